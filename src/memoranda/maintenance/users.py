"""What concerns the users of a whole store: who they are, and their deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memoranda.conversation.conversation_store import name_similar
from memoranda.errors import NotFound
from memoranda.model.checks import clean
from memoranda.model.clock import Clock
from memoranda.model.models import ForgetReceipt, Scope
from memoranda.model.query import Filter
from memoranda.notes.service import NotesService
from memoranda.store.sql.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOverview:
    """A user in one line: name, active records, conversations."""

    name: str
    records: int
    conversations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Lists and deletes the users of a store. For its administration, not for agents.

    Attributes:
        store: where everybody's memory is.
        notes: finds the notes of a user.
        clock: where the time comes from.
        wipe: clears caches and free space of what was erased; says why it could not.
    """

    store: Store
    notes: NotesService
    clock: Clock
    wipe: Callable[[], str | None]

    def users(self) -> list[str]:
        """Return the names of all users that have a record or a conversation, in order."""
        return self.store.users()

    def overviews(self) -> list[UserOverview]:
        """Return every user with how much they have."""
        where = Filter(now=self.clock.now())
        return [
            UserOverview(
                name=name,
                records=sum(self.store.count(Scope(name), where).values()),
                conversations=len(self.store.conversations(Scope(name))),
            )
            for name in self.users()
        ]

    def delete_user(self, name: str, *, erase: bool = True) -> ForgetReceipt:
        """Delete a user: no list knows them, and every open memory of theirs raises.

        A memory that is opened under the name afterwards begins anew.

        Args:
            name: the user.
            erase: remove everything of theirs for good, their notes included. Otherwise what
                they have is forgotten, not erased: history, ``get`` and ``as_of`` still know it.

        Raises:
            NotFound: there is no such user; the message names similar ones.
            StoreError: a file of the notes cannot be removed; nothing was deleted.
        """
        scope, removed = Scope(clean(name, "name")), 0
        known = [self.notes.at(owner, folder) for owner, folder in self.store.notes_bases(scope)]
        if erase:
            removed = sum(notes.remove() for notes in known)
        try:
            with self.store.write(scope) as tx:
                done = tx.delete_user(at=self.clock.now(), erase=erase)
        except NotFound as error:
            message = f"there is no user {name!r}; {name_similar(name, self.users())}"
            raise NotFound(message) from error
        self.notes.open_notes.forget(name)
        if not erase:
            return done
        # Also what another process wrote until it learned of the deletion.
        removed += sum(notes.remove() for notes in known)
        unpurged = self.wipe()
        return replace(done, notes=removed, purged=unpurged is None, unpurged=unpurged)
