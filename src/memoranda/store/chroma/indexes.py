"""Where else the rows of a user are found than by their keys. Derived, and kept with each change.

A lookup that has to walk through all records is made only where a search reads all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from memoranda.model.ports import NameMatcher
from memoranda.store.chroma.rows import Decided, Progress, Receipt, Row, Said, Stored, Thing

K = TypeVar("K")
V = TypeVar("V")


class Groups(Generic[K, V]):
    """Values by a key that several have, in the order in which they came."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._groups: dict[K, dict[V, None]] = {}

    def __getitem__(self, key: K) -> Iterable[V]:
        """Return the values of ``key``; none, if it has none."""
        return self._groups.get(key, {}).keys()

    def __contains__(self, key: K) -> bool:
        """Return whether any value has ``key``."""
        return key in self._groups

    def __iter__(self) -> Iterator[K]:
        """Return the keys that values have."""
        return iter(self._groups)

    def add(self, key: K, value: V) -> None:
        """Let ``value`` have ``key``."""
        self._groups.setdefault(key, {})[value] = None

    def remove(self, key: K, value: V) -> None:
        """Let ``value`` no longer have ``key``."""
        group = self._groups[key]
        del group[value]
        if not group:
            del self._groups[key]


class Indexes:
    """The ways to find rows of one user.

    Attributes:
        ordinals: the id of the record with this ordinal.
        sessions: ids of the records of a session.
        hashes: ids of the records with this content hash.
        sources: ids of the records that rest on this record.
        replaced: ids of the records of which this one took the place.
        mentions: ids of the records that mention this entity.
        uses: ids of the records that mention an entity under a name: (entity, folded).
        things: ids of the entities with this folded name.
        name_keys: (entity, folded, as written) of names under the keys of the name matcher.
        talks: keys of the messages of a conversation.
        episodes: keys of the messages that hold the text of this record.
        receipts: keys of the prunings of a conversation.
        progress: keys of what agents have read of a session.
        targets: the folded names that were decided to belong to what this one names.
    """

    def __init__(self, names: NameMatcher) -> None:
        """Hold nothing; ``names`` tells under which keys a name is looked for."""
        self._names = names
        self.ordinals: dict[int, str] = {}
        self.sessions: Groups[str, str] = Groups()
        self.hashes: Groups[str, str] = Groups()
        self.sources: Groups[str, str] = Groups()
        self.replaced: Groups[str, str] = Groups()
        self.mentions: Groups[str, str] = Groups()
        self.uses: Groups[tuple[str, str], str] = Groups()
        self.things: Groups[str, str] = Groups()
        self.name_keys: Groups[str, tuple[str, str, str]] = Groups()
        self.talks: Groups[str, str] = Groups()
        self.episodes: Groups[str, str] = Groups()
        self.receipts: Groups[str, str] = Groups()
        self.progress: Groups[str, str] = Groups()
        self.targets: Groups[str, str] = Groups()
        self._places: defaultdict[str, dict[int, str]] = defaultdict(dict)
        self._last: dict[str, int] = {}

    def replace(self, old: Row | None, new: Row | None) -> None:
        """Take in that ``new`` stands where ``old`` stood."""
        if isinstance(old, Stored) or isinstance(new, Stored):
            self._stored(
                old if isinstance(old, Stored) else None, new if isinstance(new, Stored) else None
            )
            return
        before, after = self._found_under(old), self._found_under(new)
        for entry in before:
            if entry not in after:
                group, key, value = entry
                group.remove(key, value)
        for entry in after:
            if entry not in before:
                group, key, value = entry
                group.add(key, value)

    def place(self, session: str) -> int:
        """Return the highest position in a session; -1 where none has one."""
        last, places = self._last.get(session, -1), self._places.get(session, {})
        if last not in places:  # It went.
            last = self._last[session] = max(places, default=-1)
        return last

    def _stored(self, old: Stored | None, new: Stored | None) -> None:
        before, after = _entries(old), _entries(new)
        groups = (
            self.sessions,
            self.hashes,
            self.sources,
            self.replaced,
            self.mentions,
        )
        for group, gone, come in zip(groups, before, after, strict=True):
            _move(group, old, gone - come, new, come - gone)
        gone_links, links = _links(old), _links(new)
        _move(self.uses, old, gone_links - links, new, links - gone_links)
        self._numbered(old, new)

    def _numbered(self, old: Stored | None, new: Stored | None) -> None:
        if _number(old) == _number(new):
            return
        if old is not None:
            del self.ordinals[old.ordinal]
            if old.record.session_id is not None and old.record.position is not None:
                places, position = self._places[old.record.session_id], old.record.position
                if places.get(position) == old.key:  # Else another has it by now.
                    del places[position]
        if new is not None:
            self.ordinals[new.ordinal] = new.key
            if new.record.session_id is not None and new.record.position is not None:
                session, position = new.record.session_id, new.record.position
                self._places[session][position] = new.key
                self._last[session] = max(self._last.get(session, -1), position)

    def _found_under(self, row: Row | None) -> dict[tuple[Groups[Any, Any], Any, Any], None]:
        """Return the group, the key and the value of each entry of a row that is no record."""
        match row:
            case Said(message=message, conversation=conversation):
                quoted = message.record_id
                found = [(self.talks, conversation, row.key)]
                found += [] if quoted is None else [(self.episodes, quoted, row.key)]
            case Receipt(conversation=conversation):
                found = [(self.receipts, conversation, row.key)]
            case Progress(session=session):
                found = [(self.progress, session, row.key)]
            case Decided(folded=folded, target=target):
                found = [(self.targets, target, folded)]
            case Thing(id=id, names=names):
                return dict.fromkeys(
                    entry for folded, name in names for entry in self._named(id, folded, name)
                )
            case _:
                found = []
        return dict.fromkeys(found)

    def _named(
        self, entity: str, folded: str, name: str
    ) -> Iterator[tuple[Groups[Any, Any], Any, Any]]:
        yield self.things, folded, entity
        for key in sorted(self._names.keys(name)):
            yield self.name_keys, key, (entity, folded, name)


def _move(
    group: Groups[K, str], old: Stored | None, gone: set[K], new: Stored | None, come: set[K]
) -> None:
    if old is not None:
        for key in gone:
            group.remove(key, old.key)
    if new is not None:
        for key in come:
            group.add(key, new.key)


def _entries(row: Stored | None) -> tuple[set[str], ...]:
    """Return under which keys a record is found: session, hash, sources, replacement, entities."""
    if row is None:
        return (set(), set(), set(), set(), set())
    item = row.record
    return (
        set() if item.session_id is None else {item.session_id},
        {item.content_hash},
        set(item.source_ids),
        set() if item.superseded_by is None else {item.superseded_by},
        {entity for entity, _ in row.links},
    )


def _number(row: Stored | None) -> tuple[object, ...] | None:
    """Return all of which :meth:`Indexes._numbered` knows a record."""
    if row is None:
        return None
    return row.key, row.ordinal, row.record.session_id, row.record.position


def _links(row: Stored | None) -> set[tuple[str, str]]:
    return set() if row is None else set(row.links)
