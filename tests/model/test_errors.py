"""Every error of memoranda is under one root, and is what Python calls such an error."""

import inspect
import pickle

from tables import each_row

from memoranda import errors


def test_one_root_catches_all():
    """``except MemorandaError`` catches every error, and each is in the drawn tree.

    Callers that know only Python catch them by the usual names.
    """
    every = [error for _, error in inspect.getmembers(errors, inspect.isclass)]
    assert all(issubclass(error, errors.MemorandaError) for error in every)
    assert [error for error in every if error.__name__ not in errors.__doc__] == []
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.NotFound, LookupError)
    assert issubclass(errors.MissingExtra, ImportError)


@each_row(
    "error",
    [
        errors.BudgetTooSmall(needed=120, budget=100),
        errors.MissingExtra("the local model", "local"),
        errors.LLMError("it failed"),
        errors.InvalidInput("no such kind"),
    ],
)
def test_another_process_can_be_sent_an_error(error):
    """It is of the same class there, says the same, and has the same attributes."""
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(sent) is type(error)
    assert (str(sent), vars(sent)) == (str(error), vars(error))


def test_messages_name_the_value_and_the_remedy():
    """A budget error says how much is missing; a missing extra, what to install."""
    budget = errors.BudgetTooSmall(needed=120, budget=100)
    assert (budget.needed, budget.budget) == (120, 100)
    assert "20 more than the budget of 100" in str(budget)
    extra = errors.MissingExtra("the local model", "local")
    assert extra.extra == "local"
    assert "pip install 'memoranda[local]'" in str(extra)
