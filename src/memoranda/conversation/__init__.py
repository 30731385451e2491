"""A conversation: an append-only transcript, and the view of it that fits a budget.

The view is a pure function of the messages and the budget: nothing is lost by it, and the
same input gives the same view.

What chooses the messages of a view is a :class:`Strategy`; whoever writes one finds here what it is
given (:class:`SelectionInput`) and what it takes into (:class:`Selection`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoranda.conversation.selection import Selection, SelectionInput, Strategy, Task, UserTurn
    from memoranda.conversation.units import Unit

__all__ = ["Selection", "SelectionInput", "Strategy", "Task", "Unit", "UserTurn"]


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives, so that a room is not loaded as a whole."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    room = "units" if name == "Unit" else "selection"
    return getattr(import_module(f"memoranda.conversation.{room}"), name)
