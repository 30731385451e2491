"""What a person changed in MEMORY.md since a store last read or wrote it, and what follows from it.

Three things are compared: the lines that the file then had, the file as it is, and the records
that the store believes now. A line is known by its text, so one that was only moved is no edit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher

from memoranda.errors import InvalidInput
from memoranda.model.actions import Action, Close, Insert
from memoranda.model.checks import content_hash
from memoranda.model.models import Record
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import Document, NoteItem
from memoranda.notes.topics import key_of, topic
from memoranda.records import plans
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.text.languages import LanguageData

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_HALF = 0.5
_EN = LanguageData("en", "notes")


def words(text: str) -> tuple[str, ...]:
    """Return the words without case; the characters of scripts that leave no spaces."""
    return tuple(_WORD.findall(text.casefold()))


def alike(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the similarity (0 to 1) of two lists of words, their order included.

    Exact from a half on; below that it may be a little more.
    """
    common = sum((Counter(first) & Counter(second)).values())
    bound = 2 * common / max(len(first) + len(second), 1)
    if bound < _HALF:
        return bound
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of words.

    0 where their numbers differ or only one of them denies: one word then makes another
    statement of it.
    """
    if _decisive(first) != _decisive(second):
        return 0.0
    return len(first & second) / max(len(first | second), 1)


def _decisive(found: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in found if word.isnumeric() or word in _EN.words("denials"))


ALIKE = 0.5
"""From this share of words on, a new line is another wording of the one that is missing."""
ALL = 3
"""From so many lines on, losing all of them at once is not believed unasked."""
MASS = 10
"""From so many lines on, losing more than half of them at once is not believed unasked."""


@dataclass(frozen=True, slots=True)
class FactLine:
    """An item of the file, and the record that it stands for."""

    item: NoteItem
    id: str


@dataclass(frozen=True, slots=True)
class EditConflict:
    """A line that a person changed while the store ended its record.

    Attributes:
        id: the record.
        text: what the line says now.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Edits:
    """The lines of the file, and the edits a person made.

    Attributes:
        lines: items that tell a record which is believed: nothing is to be done.
        stale: items whose record ended in the store: memory replaces them or takes them out.
            In a file that was cut short also the last one, where its text is cut off.
        erased: items whose record was erased: memory takes them out; never new evidence.
        changed: items that say anew what a believed record said: a correction each.
        removed: believed records whose line a person took out: a forgetting each.
        added: items that tell no record: a new fact of a person each.
        conflicts: added items that were another wording of a record which ended meanwhile.
        unseen: believed records whose lines memory had written after an editor had opened the
            file, which then saved its own text over them: no edit; memory writes them again.
        cut_short: the file is the beginning of what was written: to be restored, and nothing
            in it is an edit.
        mass_removal: more than half of at least ten lines are gone: to be asked about.
    """

    lines: tuple[FactLine, ...] = ()
    stale: tuple[FactLine, ...] = ()
    erased: tuple[FactLine, ...] = ()
    changed: tuple[FactLine, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[NoteItem, ...] = ()
    conflicts: tuple[EditConflict, ...] = ()
    unseen: tuple[str, ...] = ()
    cut_short: bool = False
    mass_removal: bool = False

    def __bool__(self) -> bool:
        """Whether a person changed anything."""
        return bool(self.changed or self.removed or self.added)


NO_EDITS = Edits()


def noted_line(id: str, text: str) -> NotedLine:
    """Return the line with this text as a store keeps it."""
    return NotedLine(id, digest_of(line_of(text)))


def digest_of(text: str) -> str:
    """Return the digest of a line; also of one that no store can keep."""
    return content_hash(text.encode("utf-8", "replace").decode())


def read_edits(
    base: Sequence[NotedLine],
    document: Document,
    known: Mapping[str, Record],
    is_active: Callable[[Record], bool],
) -> Edits:
    """Return what a person changed in ``document`` since it had the lines of ``base``.

    Args:
        base: the lines when the store last read or wrote the file, from top to bottom.
        document: the file as it is.
        known: the records of these lines that still exist, and all active facts, the best
            first.
        is_active: whether a record is believed and nothing took its place.
    """
    active = {each: record for each, record in known.items() if is_active(record)}
    reader = _EditReader(base, document, known, active)
    if reader.cut is not None:
        return reader.cut
    return reader.edits()


@dataclass(frozen=True, slots=True)
class _MissingLine:
    """A line of the base that is not in the file: its record, and where it was."""

    at: int
    id: str
    words: tuple[str, ...]
    sections: frozenset[str]


class _EditReader:
    """Compares one file with one base."""

    def __init__(
        self,
        base: Sequence[NotedLine],
        document: Document,
        known: Mapping[str, Record],
        active: Mapping[str, Record],
    ) -> None:
        self.base, self.document = base, document
        self.known, self.active = known, active
        self.owners = self._owners()
        self.digests = [digest_of(item.text) for item in document.items]
        self.cut = self._cut_short()
        self.unseen = self._unseen()
        self.base = [line for line in base if line.id not in self.unseen]

    def _owners(self) -> dict[str, str]:
        """Return the record of each digest: believed before ended before erased."""
        found: dict[str, str] = {}
        for line in self.base:
            if line.id in self.active:
                found.setdefault(line.digest, line.id)
        for name, record in self.active.items():
            found.setdefault(digest_of(line_of(record.content)), name)
        for line in sorted(self.base, key=lambda each: each.id not in self.known):
            found.setdefault(line.digest, line.id)
        return found

    def edits(self) -> Edits:
        """Return all that is in the file, and what was changed."""
        lines: list[FactLine] = []
        stale: list[FactLine] = []
        erased: list[FactLine] = []
        fresh: list[int] = []
        for at, (item, digest) in enumerate(zip(self.document.items, self.digests, strict=True)):
            owner = self.owners.get(digest)
            if owner is None:
                fresh.append(at)
            elif owner in self.active:
                lines.append(FactLine(item, owner))
            else:
                (stale if owner in self.known else erased).append(FactLine(item, owner))
        missing = self._missing({line.id for line in lines})
        pairs = _LinePairing(self, missing, fresh).pairs()
        items = self.document.items
        changed = [(at, one.id) for one, at in pairs if one.id in self.active]
        taken = {at for at, _ in changed}
        removed = self._removed(missing, {name for _, name in changed})
        reworded = [(at, one.id) for one, at in pairs if one.id not in self.active]
        return Edits(
            lines=tuple(lines),
            stale=tuple(stale),
            erased=tuple(erased),
            changed=tuple(FactLine(items[at], name) for at, name in sorted(changed)),
            removed=removed,
            added=tuple(items[at] for at in fresh if at not in taken),
            conflicts=tuple(EditConflict(name, items[at].text) for at, name in sorted(reworded)),
            unseen=self.unseen,
            mass_removal=self._is_mass(removed),
        )

    def _unseen(self) -> tuple[str, ...]:
        """Return the records whose lines an editor wrote over that had not seen them.

        All lines of the last writes are gone together, and something else was changed, too:
        whoever only takes out what memory has just written means it.
        """
        there = set(self.digests)
        batches: dict[int, list[NotedLine]] = {}
        for line in self.base:
            if line.batch and line.id in self.active:
                batches.setdefault(line.batch, []).append(line)
        gone: list[str] = []
        for batch in sorted(batches, reverse=True):
            if any(line.digest in there for line in batches[batch]):
                break
            gone += [line.id for line in batches[batch]]
        missing = {
            line.id for line in self.base if line.id in self.active and line.digest not in there
        }
        new = [
            words(item.text)
            for item, digest in zip(self.document.items, self.digests, strict=True)
            if digest not in self.owners
        ]
        if any(
            alike(words(self.known[each].content), wording) >= ALIKE
            for each in gone
            for wording in new
        ):
            return ()  # Another wording of it was written by someone who has read it.
        return tuple(dict.fromkeys(gone)) if new or missing.difference(gone) else ()

    def _missing(self, present: set[str]) -> list[_MissingLine]:
        """Return the lines of the base that are gone, once for each record."""
        there = set(self.digests)
        sections = self._sections()
        found: dict[str, _MissingLine] = {}
        for at, line in enumerate(self.base):
            if line.digest in there or line.id in present or line.id in found:
                continue
            record = self.known.get(line.id)
            near = set(sections[at])
            if record is not None:
                near.add(key_of(topic(record)))
            wording = words(record.content) if record is not None else ()
            found[line.id] = _MissingLine(at, line.id, wording, frozenset(near))
        return list(found.values())

    def _sections(self) -> list[set[str]]:
        """Return for each line of the base the sections of its nearest neighbours in the file."""
        where = {
            digest: key_of(item.section or "")
            for digest, item in zip(self.digests, self.document.items, strict=True)
        }
        found: list[set[str]] = [set() for _ in self.base]
        for order in (range(len(self.base)), range(len(self.base) - 1, -1, -1)):
            near: str | None = None
            for at in order:
                near = where.get(self.base[at].digest, near)
                if near is not None:
                    found[at].add(near)
        return found

    def _removed(self, missing: Iterable[_MissingLine], changed: set[str]) -> tuple[str, ...]:
        """Return the believed records whose words are gone, also those that say just the same."""
        gone = [one.id for one in missing if one.id in self.active]
        digests = {digest_of(line_of(self.active[each].content)) for each in gone}
        twins = [
            name
            for name, record in (self.active.items() if gone else ())
            if digest_of(line_of(record.content)) in digests
        ]
        return tuple(each for each in dict.fromkeys([*gone, *twins]) if each not in changed)

    def _is_mass(self, removed: Sequence[str]) -> bool:
        lines = {line.id for line in self.base if line.id in self.active}
        gone = len(lines.intersection(removed))
        return (len(lines) >= MASS and 2 * gone > len(lines)) or ALL <= gone == len(lines)

    def _cut_short(self) -> Edits | None:
        """Return what is left of a file that was not written to its end; ``None`` if it was."""
        if self.document.blank:
            return Edits(cut_short=True) if self._is_lost(0) else None
        if self.document.lines[-1].endswith("\n"):
            return None
        broken = self.document.unclosed
        items = [each for each in self.document.items if broken is None or each.stop <= broken]
        whole = [line.digest for line in self.base]
        same = 0
        while same < min(len(items), len(whole)) and self.digests[same] == whole[same]:
            same += 1
        if not self._is_lost(same) or same < len(items) - 1:
            return None
        part: tuple[FactLine, ...] = ()
        if same < len(items):
            if not self._is_part(items[-1], same):
                return None
            part = (FactLine(items[-1], self.base[same].id),)
        left = [FactLine(item, self.base[at].id) for at, item in enumerate(items[:same])]
        return Edits(
            lines=tuple(line for line in left if line.id in self.active),
            stale=tuple(line for line in left if line.id not in self.active) + part,
            cut_short=True,
        )

    def _is_lost(self, start: int) -> bool:
        """Return whether the base has lines from ``start`` on that are still believed."""
        return any(line.id in self.active for line in self.base[start:])

    def _is_part(self, item: NoteItem, at: int) -> bool:
        """Return whether an item is the beginning of the line at a place of the base."""
        record = self.known.get(self.base[at].id)
        ends = item.stop == len(self.document.lines)
        return ends and record is not None and line_of(record.content).startswith(item.text)


class _LinePairing:
    """Finds which new line is another wording of which missing one."""

    def __init__(self, reader: _EditReader, missing: list[_MissingLine], fresh: list[int]) -> None:
        self.reader, self.missing, self.fresh = reader, missing, fresh
        self.items = reader.document.items
        self.found: dict[int, _MissingLine] = {}

    def pairs(self) -> list[tuple[_MissingLine, int]]:
        """Return pairs of a missing line and the place of an item."""
        gaps = self._gaps() if self.missing and self.fresh else []
        for missing, fresh in gaps:
            self._take_alike(missing, fresh)
        self._take_alike(self.missing, self.fresh)
        for missing, fresh in gaps:
            self._take_in_order(missing, fresh)
        return [(one, at) for at, one in self.found.items()]

    def _gaps(self) -> list[tuple[list[_MissingLine], list[int]]]:
        """Return missing and new lines that stand between the same unchanged neighbours."""
        old = [line.digest for line in self.reader.base]
        new = self.reader.digests
        missing = {one.at: one for one in self.missing}
        fresh = set(self.fresh)
        found = []
        for name, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if name == "replace":
                gone = [missing[at] for at in range(a, b) if at in missing]
                came = [at for at in range(c, d) if at in fresh]
                if gone and came:
                    found.append((gone, came))
        return found

    def _take_alike(self, missing: Iterable[_MissingLine], fresh: Iterable[int]) -> None:
        """Pair what is alike within a section, the most alike first."""
        taken = {one.id for one in self.found.values()}
        open_ = [(at, words(self.items[at].text)) for at in fresh if at not in self.found]
        scored = []
        for one in missing:
            if one.id in taken or not one.words:
                continue
            for at, wording in open_:
                if self._same_section(one, at) and (likeness := alike(one.words, wording)) >= ALIKE:
                    ended = one.id not in self.reader.active
                    scored.append((-likeness, ended, one.at, at, one))
        for _, _, _, at, one in sorted(scored, key=lambda each: each[:4]):
            if at not in self.found and one.id not in taken:
                self.found[at] = one
                taken.add(one.id)

    def _take_in_order(self, missing: Iterable[_MissingLine], fresh: Iterable[int]) -> None:
        """Pair what is left of a gap in its order, where as many are missing as are new."""
        taken = {one.id for one in self.found.values()}
        left = [one for one in missing if one.id not in taken]
        active = self.reader.active
        for one_by_one in (
            [one for one in left if one.id in active],
            [one for one in left if one.id not in active],
        ):
            open_ = [at for at in fresh if at not in self.found]
            if len(open_) == len(one_by_one):
                for one, at in zip(one_by_one, open_, strict=True):
                    if self._same_section(one, at):
                        self.found[at] = one

    def _same_section(self, one: _MissingLine, at: int) -> bool:
        return key_of(self.items[at].section or "") in one.sections


ORIGIN = "notes"
SECTION = "section"
REMOVED = "its line was taken out of MEMORY.md"
WRITTEN = "written into MEMORY.md"


@dataclass(slots=True)
class EditPlan:
    """The actions that follow from edits of MEMORY.md.

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


class EditPlanner:
    """Makes actions of edits. What a person wrote has a person's trust, and never fades."""

    def __init__(self, records: RecordService, facts: Sequence[Record]) -> None:
        """Plan for a scope whose facts that are worth a line are ``facts``."""
        self._records = records
        self._now = records.now()
        self._same: dict[str, list[Record]] = {}
        for fact in facts:
            self._same.setdefault(line_of(fact.content), []).append(fact)

    def plan(
        self, edits: Edits, known: Mapping[str, Record], *, removed: Sequence[str]
    ) -> EditPlan:
        """Return the actions for ``edits``; of facts without a line only ``removed`` go."""
        found = EditPlan()
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

    def _add(self, item: NoteItem, found: EditPlan) -> None:
        section = {SECTION: item.section} if item.section else None
        draft = Draft(content=item.text, metadata=section, origin=ORIGIN)
        insert = self._planned(draft, WRITTEN, found)
        if insert is not None:
            found.actions.append(insert)
            found.added.append(insert.record)
            found.lines.append(f"+ {insert.record.id}: {insert.record.content}")

    def _correct(self, old: Record, item: NoteItem, found: EditPlan) -> None:
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

    def _planned(self, draft: Draft, reason: str, found: EditPlan) -> Insert | None:
        try:
            return self._records.plan(draft, reason=reason)
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
