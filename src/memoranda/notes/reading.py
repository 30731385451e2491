"""From what a person changed in MEMORY.md to what it changes in the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoranda.errors import InvalidInput
from memoranda.model.actions import Action, Close, Insert
from memoranda.model.models import Record
from memoranda.model.notes import line_of
from memoranda.model.scope import Scope
from memoranda.notes.document import Item
from memoranda.notes.edits import Edits
from memoranda.parts import Parts
from memoranda.records import plans
from memoranda.records.drafts import Draft

ORIGIN = "notes"
SECTION = "section"
REMOVED = "its line was taken out of MEMORY.md"
WRITTEN = "written into MEMORY.md"


@dataclass(slots=True)
class Reading:
    """What edits of MEMORY.md come to.

    Attributes:
        actions: what they change in the store.
        added: facts that were written into it.
        corrected: facts in the place of others, whose lines were changed.
        forgotten: ids of facts whose lines were taken out.
        lines: each in a line, for a person.
    """

    actions: list[Action] = field(default_factory=list)
    added: list[Record] = field(default_factory=list)
    corrected: list[Record] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def inserts(self) -> list[Insert]:
        """The actions that make records."""
        return [action for action in self.actions if isinstance(action, Insert)]


class Reader:
    """Makes actions of edits. What a person wrote has a person's trust, and never fades."""

    def __init__(self, parts: Parts, scope: Scope, facts: Sequence[Record]) -> None:
        """Read for ``scope``, whose standing facts are ``facts``."""
        self._parts = parts
        self._scope = scope
        self._now = parts.now()
        self._same: dict[str, list[Record]] = {}
        for fact in facts:
            self._same.setdefault(line_of(fact.content), []).append(fact)

    def read(self, edits: Edits, known: Mapping[str, Record], *, removed: Sequence[str]) -> Reading:
        """Return what ``edits`` come to; of what lost its line, only ``removed`` is forgotten."""
        found = Reading()
        for item in edits.added:
            self._add(item, found)
        for line in edits.changed:
            self._correct(known[line.id], line.item, found)
        for id_ in removed:
            for record in self._alike(known[id_]):
                if record.id in found.forgotten:
                    continue
                found.actions.append(_closed(record, self._now))
                found.forgotten.append(record.id)
                found.lines.append(f"- {record.id} is forgotten: {REMOVED}")
        found.lines += [
            f"! {conflict.id} ended in memory while its line was changed: what was written is kept"
            for conflict in edits.conflicts
        ]
        return found

    def _add(self, item: Item, found: Reading) -> None:
        section = {SECTION: item.section} if item.section else None
        draft = Draft(content=item.text, metadata=section, origin=ORIGIN)
        insert = self._planned(draft, WRITTEN, found)
        if insert is not None:
            found.actions.append(insert)
            found.added.append(insert.record)
            found.lines.append(f"+ {insert.record.id}: {insert.record.content}")

    def _correct(self, old: Record, item: Item, found: Reading) -> None:
        draft = replace(
            plans.draft_correction(old, item.text),
            role=None,
            origin=ORIGIN,
            source_ids=(),
            decay_rate=0.0,
        )
        new = self._planned(draft, f"corrects {old.id}", found)
        if new is None:
            return
        found.actions += plans.plan_correction(old, new, self._now)
        found.actions += [
            _closed(record, self._now) for record in self._alike(old) if record.id != old.id
        ]
        found.corrected.append(new.record)
        found.lines.append(f"~ {new.record.id} takes the place of {old.id}: {new.record.content}")

    def _planned(self, draft: Draft, reason: str, found: Reading) -> Insert | None:
        try:
            return self._parts.ingest.plan(self._scope, draft, reason=reason)
        except InvalidInput as error:
            # A NUL character, perhaps: the line stays in the file, and is no fact.
            found.lines.append(f"! a line of MEMORY.md cannot be kept: {error}")
            return None

    def _alike(self, record: Record) -> Iterator[Record]:
        """Yield a record and those that have the same line: it stands for all of them."""
        yield record
        for other in self._same.get(line_of(record.content), ()):
            if other.id != record.id:
                yield other


def _closed(record: Record, at: datetime) -> Close:
    return Close(record.id, at, REMOVED, superseded_by=record.superseded_by)
