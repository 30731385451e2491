"""The laws of a store as tests, one class for each group; ``StoreContract`` is all of them.

A test file of a back end subclasses it and gives it a store that was made with ``WordAnalyzer`` and
``PlainNames``. Each test proves one sentence of :mod:`memoranda.model.ports`; its docstring says
which.
"""

from importlib import import_module
from inspect import signature
from pathlib import Path

from laws.base import Contract

__all__ = ["Contract", "StoreContract", "reopening"]

PARTS = [
    part
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py"))
    for part in vars(import_module(f"laws.{file.stem}")).values()
    if isinstance(part, type) and issubclass(part, Contract) and part is not Contract
]


class StoreContract(*PARTS):
    """The whole contract of a store: all classes of this folder."""


def reopening(test_class):
    """Add to a test class every law of the contract that closes a store and opens it again."""
    for part in PARTS:
        for name, law in vars(part).items():
            reopens = name.startswith("test_") and "reopen" in signature(law).parameters
            if reopens and not hasattr(test_class, name):
                setattr(test_class, name, law)
    return test_class
