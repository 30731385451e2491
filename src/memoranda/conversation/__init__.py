"""A conversation: an append-only transcript, and the view of it that fits a budget.

The view is a pure function of the messages and the budget: nothing is lost by it, and the
same input gives the same view.
"""
