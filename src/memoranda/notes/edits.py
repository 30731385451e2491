"""What a person changed in MEMORY.md since a store last read or wrote it, and what follows from it.

Three things are compared: the lines that the file then had, the file as it is, and the records
that the store believes now. A line is known by its text, so one that was only moved is no edit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import NamedTuple

from memoranda.errors import InvalidInput
from memoranda.model.changes import Close, Insert, RecordChange
from memoranda.model.checks import content_hash
from memoranda.model.models import Record
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import Document, NoteItem, key_of
from memoranda.notes.topics import topic
from memoranda.records.drafts import Draft, draft_correction, plan_correction
from memoranda.records.service import RecordService

# More lines than this, and more than half of all, are not believed to be gone unasked.
FEW = 2
# Stand in place of the digest of a line that there is none: no line has one of these.
WAITING = "waiting"  # The line is gone, and its fact is believed until somebody says it was meant.
OMITTED = "omitted"  # A model left it out of a file that was too long; the fact is believed.
# Origin of a record whose words a person wrote into the file.
ORIGIN = "notes"
SECTION = "section"
REMOVED = "its line was taken out of MEMORY.md"
WRITTEN = "written into MEMORY.md"


def digest_of(text: str) -> str:
    """Return the digest of a line; also of one that no store can keep."""
    return content_hash(line_of(text).encode("utf-8", "replace").decode())


class FactLine(NamedTuple):
    """A bullet of the file, and a record that it stands for."""

    item: NoteItem
    id: str


@dataclass(frozen=True, slots=True)
class Edits:
    """The lines of the file, and the edits a person made.

    Attributes:
        lines: bullets of records that are believed, a pair for each record: nothing is to be done.
        prose: lines of the base that a person has as prose by now: left as they are.
        stale: bullets whose record ended in the store: memory replaces them or takes them out.
        erased: bullets whose record was erased: memory takes them out; never new evidence.
        changed: bullets that say anew what a believed record said: a correction each.
        removed: believed records whose line a person took out: a forgetting each.
        added: bullets that stand for no record: a new fact of a person each.
        restored: the file is empty or missing, and nothing in it is an edit.
        mass_removal: so many lines are gone at once that it is to be asked about.
    """

    lines: tuple[FactLine, ...] = ()
    prose: tuple[NotedLine, ...] = ()
    stale: tuple[FactLine, ...] = ()
    erased: tuple[FactLine, ...] = ()
    changed: tuple[FactLine, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[NoteItem, ...] = ()
    restored: bool = False
    mass_removal: bool = False

    @property
    def told(self) -> frozenset[str]:
        """The believed records that the file tells."""
        return frozenset(line.id for line in self.lines) | {line.id for line in self.prose}

    def __bool__(self) -> bool:
        """Whether a person changed anything."""
        return bool(self.changed or self.removed or self.added)


NO_EDITS = Edits()


def read_edits(
    base: Sequence[NotedLine],
    document: Document,
    known: Mapping[str, Record],
    active: Collection[str],
) -> Edits:
    """Return what a person changed in ``document`` since it had the lines of ``base``.

    Args:
        base: the lines when the store last read or wrote the file, from top to bottom.
        document: the file as it is.
        known: the records of these lines that still exist, and all active facts.
        active: ids of those that are believed and that nothing took the place of.
    """
    if document.blank:
        return Edits(restored=any(line.id in active for line in base))
    owners = _owners(base, known, active)
    told: dict[str, list[FactLine]] = {"lines": [], "stale": [], "erased": []}
    fresh: dict[int, NoteItem] = {}
    for at, item in enumerate(document.bullets):
        ids = owners.get(digest_of(item.text), ())
        if believed := [id_ for id_ in ids if id_ in active]:
            told["lines"] += [FactLine(item, id_) for id_ in believed]
        elif ended := [id_ for id_ in ids if id_ in known]:
            told["stale"].append(FactLine(item, ended[0]))
        elif ids:
            told["erased"].append(FactLine(item, ids[0]))
        else:
            fresh[at] = item
    said = {digest_of(item.text) for item in document.items if not item.listed}
    prose = [line for line in base if line.digest in said and line.id in active]
    present = {line.id for line in told["lines"]} | {line.id for line in prose}
    missing = {
        at: line.id
        for at, line in enumerate(base)
        if line.id in active and line.id not in present and line.digest != OMITTED
    }
    changed = _pair(base, document, known, missing, fresh)
    corrected = {line.id for line in changed.values()}
    removed = tuple(dict.fromkeys(id_ for id_ in missing.values() if id_ not in corrected))
    believed_lines = {line.id for line in base if line.id in active and line.digest != OMITTED}
    return Edits(
        lines=tuple(told["lines"]),
        prose=tuple(prose),
        stale=tuple(told["stale"]),
        erased=tuple(told["erased"]),
        changed=tuple(changed.values()),
        removed=removed,
        added=tuple(item for at, item in fresh.items() if at not in changed),
        mass_removal=len(removed) > FEW and 2 * len(removed) > len(believed_lines),
    )


def _owners(
    base: Iterable[NotedLine], known: Mapping[str, Record], active: Iterable[str]
) -> dict[str, list[str]]:
    """Return the records that a line stands for, by its digest."""
    owners: dict[str, list[str]] = {}
    for line in base:
        owners.setdefault(line.digest, []).append(line.id)
    for id_ in active:
        owners.setdefault(digest_of(known[id_].content), []).append(id_)
    return {digest: list(dict.fromkeys(ids)) for digest, ids in owners.items()}


def _pair(
    base: Sequence[NotedLine],
    document: Document,
    known: Mapping[str, Record],
    missing: Mapping[int, str],
    fresh: Mapping[int, NoteItem],
) -> dict[int, FactLine]:
    """Return which new bullets stand where a line is missing, between the same neighbours.

    Under the heading of one of them, or of the fact: what begins a section of its own is new.
    """
    if not missing or not fresh:
        return {}
    old, new = [line.digest for line in base], [digest_of(each.text) for each in document.bullets]
    sections = {digest_of(each.text): key_of(each.section or "") for each in document.bullets}
    found: dict[int, FactLine] = {}
    taken: set[str] = set()
    for name, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone = [missing[at] for at in range(a, b) if at in missing and old[at] != WAITING]
        came = [at for at in range(c, d) if at in fresh]
        near = {sections[each] for each in (*old[a - 1 : a], *old[b : b + 1]) if each in sections}
        pairs = zip(gone, came, strict=False) if name == "replace" else ()
        for id_, at in pairs:
            here, own = key_of(fresh[at].section or ""), key_of(topic(known[id_]))
            if id_ not in taken and (not near or here in {*near, own}):
                found[at] = FactLine(fresh[at], id_)
                taken.add(id_)
    return found


class EditPlan:
    """The actions that follow from edits of MEMORY.md.

    What a person wrote has a person's trust, and never fades.

    Attributes:
        actions: what they change in the store.
        added: facts that were written into the file.
        corrected: facts in the place of others, whose lines were changed.
        lines: each in a line, for a person.
    """

    def __init__(
        self,
        records: RecordService,
        edits: Edits,
        known: Mapping[str, Record],
        *,
        removed: Iterable[str],
    ) -> None:
        """Plan; of the facts whose lines are gone only ``removed`` are forgotten."""
        self._records, self._now = records, records.now()
        self.actions: list[RecordChange] = []
        self.added: list[Record] = []
        self.corrected: list[Record] = []
        self.lines: list[str] = []
        for item in edits.added:
            self._add(item)
        for line in edits.changed:
            self._correct(known[line.id], line.item)
        for id_ in removed:
            self.actions.append(Close(id_, self._now, REMOVED))
            self.lines.append(f"- {id_} is forgotten: {REMOVED}")

    def _add(self, item: NoteItem) -> None:
        section = {SECTION: item.section} if item.section else None
        insert = self._planned(Draft(content=item.text, metadata=section, origin=ORIGIN), WRITTEN)
        if insert is not None:
            self.actions.append(insert)
            self.added.append(insert.record)
            self.lines.append(f"+ {insert.record.id}: {insert.record.content}")

    def _correct(self, old: Record, item: NoteItem) -> None:
        draft = replace(
            draft_correction(old, item.text),
            role=None,
            origin=ORIGIN,
            source_ids=(),
            decay_rate=0.0,
        )
        new = self._planned(draft, f"corrects {old.id}")
        if new is None:
            return
        self.actions += plan_correction(old, new, self._now)
        self.corrected.append(new.record)
        self.lines.append(f"~ {new.record.id} takes the place of {old.id}: {new.record.content}")

    def _planned(self, draft: Draft, reason: str) -> Insert | None:
        try:
            return self._records.plan(draft, reason=reason)
        except InvalidInput as error:
            # A NUL character, perhaps: the line stays in the file, and is no fact.
            self.lines.append(f"! a line of MEMORY.md cannot be kept: {error}")
            return None
