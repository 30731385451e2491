"""A conversation: an append-only transcript, and the view of it that fits a budget.

The view is a pure function of the messages and the budget: nothing is lost by it, and the
same input gives the same view.

What chooses the messages of a view is a :class:`Strategy`; whoever writes one finds here what it is
given (:class:`SelectionInput`) and what it takes into (:class:`Selection`).
"""

from memoranda.conversation.selection import Selection, SelectionInput, Strategy, UserTurn
from memoranda.conversation.units import Unit

__all__ = ["Selection", "SelectionInput", "Strategy", "Unit", "UserTurn"]
