"""Every error memoranda raises, under one root.

.. code-block:: text

    MemorandaError
    ├── InvalidInput          (also ValueError)  an argument that cannot be used
    ├── NotFound              (also LookupError) no such id for this user
    ├── Conflict              a plan is out of date: what it rests on was changed since
    ├── UserDeleted           the user was deleted after this memory was opened
    ├── BudgetTooSmall        what must be in a context does not fit its budget
    ├── ConfigError           a setting, a file of settings or a location is wrong
    ├── MissingExtra          (also ImportError) an optional extra is not installed
    ├── EmbeddingError        an embedding model failed
    │   └── ModelUnavailable  the model's files or server are not there
    ├── LLMError              a language model failed, or what it answered is of no use
    │   ├── UnusableAnswer    it answered, and nothing of it is of use
    │   └── SpendLimitReached the session has cost what it may cost
    └── StoreError            the storage failed; nothing was half written
        ├── NotADatabase      the file is something else, or damaged
        ├── SchemaTooNew      written by a newer memoranda
        ├── StoreReadOnly     the file or its folder cannot be written
        ├── StoreFull         the disk or the quota is full
        ├── StoreBusy         another process held the lock beyond the timeout
        ├── StoreUnreachable  its server cannot be reached, or was lost
        └── StoreClosed       used after close()

A message names the value that was wrong and what to do about it. No exception
of a driver or a client library leaves the room that uses it.
"""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For the type of an attribute alone: nothing below this module is imported when it runs.
    from memoranda.model.usage import Usage


class MemorandaError(Exception):
    """The root: ``except MemorandaError`` catches everything memoranda raises."""

    def __reduce__(self) -> tuple[object, ...]:
        """Let another process be sent the error, whatever its class is made with."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InvalidInput(MemorandaError, ValueError):
    """An argument has the wrong type or an impossible value."""


class NotFound(MemorandaError, LookupError):
    """The id does not exist, or belongs to another user (the two look alike on purpose)."""


class Conflict(MemorandaError):
    """What a plan rests on was changed since it was made; plan again."""


class UserDeleted(MemorandaError):
    """The user was deleted after this memory was opened; open another one to begin anew."""


class BudgetTooSmall(MemorandaError):
    """System prompt, tools, pinned messages and prompt alone exceed the token budget."""

    def __init__(self, *, needed: int, budget: int) -> None:
        """Say by how much ``needed`` tokens exceed ``budget``."""
        self.needed = needed
        self.budget = budget
        super().__init__(
            f"the system prompt, the tools, the pinned messages and the prompt need {needed} "
            f"tokens, {needed - budget} more than the budget of {budget}; raise the budget, "
            f"unpin a message or shorten the prompt"
        )


class ConfigError(MemorandaError):
    """A setting, a settings file or a location cannot be used."""


class MissingExtra(MemorandaError, ImportError):
    """A feature needs an optional extra that is not installed."""

    def __init__(self, feature: str, extra: str, then: str = "") -> None:
        """Name the ``feature`` that was asked for, the ``extra`` that brings it, and what follows.

        Args:
            feature: what was asked for.
            extra: what brings it.
            then: a command that is needed after installing it.
        """
        self.extra = extra
        after = f" && {then}" if then else ""
        super().__init__(f"{feature} needs an extra: pip install 'memoranda[{extra}]'{after}")


class EmbeddingError(MemorandaError):
    """An embedding model could not turn text into vectors."""


class ModelUnavailable(EmbeddingError):
    """The files or the server of an embedding model cannot be reached."""


class LLMError(MemorandaError):
    """A language model failed, took too long, or answered what cannot be used.

    ``usage`` is what was spent all the same.
    """

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        """Say what went wrong, and what was spent."""
        super().__init__(message)
        self.usage = usage


class UnusableAnswer(LLMError):
    """A language model answered what cannot be used, also when told so; it would do so again."""


class SpendLimitReached(LLMError):
    """A session has cost as much as it may cost; nothing was asked of a model."""


class StoreError(MemorandaError):
    """The storage failed; the transaction it was in left no trace."""


class NotADatabase(StoreError):
    """The file is not a database of memoranda, or it is damaged."""


class SchemaTooNew(StoreError):
    """The database was written by a newer version of memoranda."""


class StoreReadOnly(StoreError):
    """The database, or the folder it is in, cannot be written."""


class StoreFull(StoreError):
    """No room is left on the disk; what was stored before is intact."""


class StoreBusy(StoreError):
    """Another process kept the database locked for longer than the timeout."""


class StoreUnreachable(StoreError):
    """The server of the store cannot be reached, or was lost."""


class StoreClosed(StoreError):
    """The memory was used after ``close()``."""
