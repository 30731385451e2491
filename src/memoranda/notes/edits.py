"""What a person changed in MEMORY.md since a store last read or wrote it, and what follows from it.

Three things are compared: the lines that the file then had, the file as it is, and the records
that the store believes now. A line is known by its text, so one that was only moved is no edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import takewhile
from typing import NamedTuple

from memoranda.errors import InvalidInput
from memoranda.model.actions import Action, Close, Insert
from memoranda.model.checks import content_hash
from memoranda.model.models import Record
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import Document, NoteItem, key_of
from memoranda.notes.topics import topic
from memoranda.records.drafts import Draft, draft_correction, plan_correction
from memoranda.records.service import RecordService
from memoranda.text.patterns import LanguageData, compile_pattern

# From this share of words on, a new line is another wording of the one that is missing.
ALIKE = 0.5
# From so many lines on, losing all of them at once is not believed unasked.
ALL = 3
# From so many lines on, losing more than half of them at once is not believed unasked.
MASS = 10
# Origin of a record whose words a person wrote into the file.
ORIGIN = "notes"
SECTION = "section"
REMOVED = "its line was taken out of MEMORY.md"
WRITTEN = "written into MEMORY.md"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = compile_pattern(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_EN = LanguageData("en", "notes")


def words(text: str) -> tuple[str, ...]:
    """Return the words without case; the characters of scripts that leave no spaces."""
    return tuple(_WORD.findall(text.casefold()))


def alike(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the similarity (0 to 1) of two lists of words, their order included.

    Exact from :data:`ALIKE` on; below that it may be a little more.
    """
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    bound = matcher.quick_ratio() if first else 0.0
    return bound if bound < ALIKE else matcher.ratio()


def shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of words.

    0 where their numbers differ or only one of them denies: one word then makes another
    statement of it.
    """
    denials = _EN.words("denials")
    if any(word.isnumeric() or word in denials for word in first ^ second):
        return 0.0
    return len(first & second) / max(len(first | second), 1)


def digest_of(text: str) -> str:
    """Return the digest of a line; also of one that no store can keep."""
    return content_hash(line_of(text).encode("utf-8", "replace").decode())


def noted_line(id: str, text: str) -> NotedLine:
    """Return the line with this text as a store keeps it."""
    return NotedLine(id, digest_of(text))


class FactLine(NamedTuple):
    """An item of the file, and the record that it stands for."""

    item: NoteItem
    id: str


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
    conflicts: tuple[FactLine, ...] = ()
    unseen: tuple[str, ...] = ()
    cut_short: bool = False
    mass_removal: bool = False

    def __bool__(self) -> bool:
        """Whether a person changed anything."""
        return bool(self.changed or self.removed or self.added)


NO_EDITS = Edits()


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
    comparison = _Comparison(base, document, known, is_active)
    cut_short = comparison.cut_short()
    return comparison.edits() if cut_short is None else cut_short


class _MissingLine(NamedTuple):
    """A line of the base that is not in the file: its record, and where it was."""

    at: int
    id: str
    words: tuple[str, ...]
    sections: frozenset[str]


class _Comparison:
    """One base, one file, and what the store believes of the records in them."""

    def __init__(
        self,
        base: Sequence[NotedLine],
        document: Document,
        known: Mapping[str, Record],
        is_active: Callable[[Record], bool],
    ) -> None:
        self.base, self.document, self.known = list(base), document, known
        self.active = {each: record for each, record in known.items() if is_active(record)}
        self.items = document.items
        self.digests = [digest_of(item.text) for item in self.items]
        self.there = set(self.digests)
        # The record of each digest: believed before ended before erased.
        self.owners: dict[str, str] = {}
        for line in base:
            if line.id in self.active:
                self.owners.setdefault(line.digest, line.id)
        for name, record in self.active.items():
            self.owners.setdefault(digest_of(record.content), name)
        for line in sorted(base, key=lambda each: each.id not in known):
            self.owners.setdefault(line.digest, line.id)
        self.fresh = [at for at, each in enumerate(self.digests) if each not in self.owners]
        self.paired: dict[int, _MissingLine] = {}

    def edits(self) -> Edits:
        """Return all that is in the file, and what was changed."""
        unseen = self._unseen()
        self.base = [line for line in self.base if line.id not in unseen]
        told: dict[str, list[FactLine]] = {"lines": [], "stale": [], "erased": []}
        for item, digest in zip(self.items, self.digests, strict=True):
            owner = self.owners.get(digest)
            if owner is not None:
                ended = "stale" if owner in self.known else "erased"
                told["lines" if owner in self.active else ended].append(FactLine(item, owner))
        missing = self._missing({line.id for line in told["lines"]})
        self._pair(missing)
        pairs = [(at, FactLine(self.items[at], one.id)) for at, one in sorted(self.paired.items())]
        changed = {at: line for at, line in pairs if line.id in self.active}
        removed = self._removed(missing, {line.id for line in changed.values()})
        believed = {line.id for line in self.base if line.id in self.active}
        gone = len(believed.intersection(removed))
        return Edits(
            lines=tuple(told["lines"]),
            stale=tuple(told["stale"]),
            erased=tuple(told["erased"]),
            changed=tuple(changed.values()),
            removed=removed,
            added=tuple(self.items[at] for at in self.fresh if at not in changed),
            conflicts=tuple(line for _, line in pairs if line.id not in self.active),
            unseen=unseen,
            mass_removal=(len(believed) >= MASS and 2 * gone > len(believed))
            or ALL <= gone == len(believed),
        )

    def cut_short(self) -> Edits | None:
        """Return what is left of a file that was not written to its end; ``None`` if it was."""
        if self.document.blank:
            return Edits(cut_short=True) if self._is_lost(0) else None
        if self.document.lines[-1].endswith("\n"):
            return None
        broken = self.document.unclosed
        items = [each for each in self.items if broken is None or each.stop <= broken]
        pairs = zip(self.digests[: len(items)], self.base, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1].digest, pairs))
        if not self._is_lost(same) or same < len(items) - 1:
            return None
        left = [FactLine(item, self.base[at].id) for at, item in enumerate(items)]
        if same < len(items):
            # The last one is the beginning of the line at its place of the base.
            last, record = items[-1], self.known.get(self.base[same].id)
            ends = last.stop == len(self.document.lines)
            if not ends or record is None or not line_of(record.content).startswith(last.text):
                return None
        return Edits(
            lines=tuple(line for line in left[:same] if line.id in self.active),
            stale=(*(line for line in left[:same] if line.id not in self.active), *left[same:]),
            cut_short=True,
        )

    def _is_lost(self, start: int) -> bool:
        """Return whether the base has lines from ``start`` on that are still believed."""
        return any(line.id in self.active for line in self.base[start:])

    def _unseen(self) -> tuple[str, ...]:
        """Return the records whose lines an editor wrote over that had not seen them.

        All lines of the last writes are gone together, and something else was changed, too:
        whoever only takes out what memory has just written means it.
        """
        believed = [line for line in self.base if line.id in self.active]
        gone: list[str] = []
        for batch in sorted({line.batch for line in believed if line.batch}, reverse=True):
            lines = [line for line in believed if line.batch == batch]
            if any(line.digest in self.there for line in lines):
                break
            gone += [line.id for line in lines]
        missing = {line.id for line in believed if line.digest not in self.there}
        new = [words(self.items[at].text) for at in self.fresh]
        contents = [words(self.known[each].content) for each in gone]
        if any(alike(content, wording) >= ALIKE for content in contents for wording in new):
            return ()  # Another wording of it was written by someone who has read it.
        return tuple(dict.fromkeys(gone)) if new or missing.difference(gone) else ()

    def _missing(self, present: set[str]) -> list[_MissingLine]:
        """Return the lines of the base that are gone, once for each record."""
        sections = {
            digest: key_of(item.section or "")
            for digest, item in zip(self.digests, self.items, strict=True)
        }
        before, after = self._nearest(self.base, sections), self._nearest(self.base[::-1], sections)
        found: dict[str, _MissingLine] = {}
        for at, line in enumerate(self.base):
            if line.digest in self.there or line.id in present or line.id in found:
                continue
            near, record = {before[at], after[-1 - at]}, self.known.get(line.id)
            wording: tuple[str, ...] = ()
            if record is not None:
                near.add(key_of(topic(record)))
                wording = words(record.content)
            in_sections = frozenset(each for each in near if each is not None)
            found[line.id] = _MissingLine(at, line.id, wording, in_sections)
        return list(found.values())

    @staticmethod
    def _nearest(lines: Iterable[NotedLine], sections: Mapping[str, str]) -> list[str | None]:
        """Return for each line the section of the last one up to it that is in the file."""
        found: list[str | None] = []
        for line in lines:
            found.append(sections.get(line.digest, found[-1] if found else None))
        return found

    def _removed(self, missing: Iterable[_MissingLine], changed: set[str]) -> tuple[str, ...]:
        """Return the believed records whose words are gone, also those that say just the same."""
        gone = [one.id for one in missing if one.id in self.active]
        digests = {digest_of(self.active[each].content) for each in gone}
        twins = [
            name
            for name, record in (self.active.items() if gone else ())
            if digest_of(record.content) in digests
        ]
        return tuple(each for each in dict.fromkeys([*gone, *twins]) if each not in changed)

    # Which new line is another wording of which missing one

    def _pair(self, missing: list[_MissingLine]) -> None:
        gaps = self._gaps(missing) if missing and self.fresh else []
        for gone, came in [*gaps, (missing, self.fresh)]:
            self._take_alike(gone, came)
        for gone, came in gaps:
            for believed in (True, False):
                self._take_in_order(
                    [one for one in gone if (one.id in self.active) is believed], came
                )

    def _gaps(self, missing: list[_MissingLine]) -> list[tuple[list[_MissingLine], list[int]]]:
        """Return missing and new lines that stand between the same unchanged neighbours."""
        old = [line.digest for line in self.base]
        found = []
        matcher = SequenceMatcher(None, old, self.digests, autojunk=False)
        for name, a, b, c, d in matcher.get_opcodes():
            gone = [one for one in missing if a <= one.at < b]
            came = [at for at in self.fresh if c <= at < d]
            if name == "replace" and gone and came:
                found.append((gone, came))
        return found

    def _open(
        self, missing: Iterable[_MissingLine], fresh: Iterable[int]
    ) -> tuple[list[_MissingLine], list[int]]:
        """Return which of the lines have no partner yet."""
        taken = {one.id for one in self.paired.values()}
        left = [one for one in missing if one.id not in taken]
        return left, [at for at in fresh if at not in self.paired]

    def _take_alike(self, missing: Iterable[_MissingLine], fresh: Iterable[int]) -> None:
        """Pair what is alike within a section, the most alike first."""
        left, open_ = self._open(missing, fresh)
        wordings = {at: words(self.items[at].text) for at in open_}
        scored = [
            (-likeness, one.id not in self.active, one.at, at, one)
            for one in left
            for at, wording in wordings.items()
            if one.words and self._same_section(one, at)
            if (likeness := alike(one.words, wording)) >= ALIKE
        ]
        taken: set[str] = set()
        for *_, at, one in sorted(scored):
            if at not in self.paired and one.id not in taken:
                self.paired[at] = one
                taken.add(one.id)

    def _take_in_order(self, missing: Iterable[_MissingLine], fresh: Iterable[int]) -> None:
        """Pair what is left of a gap in its order, where as many are missing as are new."""
        left, open_ = self._open(missing, fresh)
        if len(left) == len(open_):
            pairs = zip(left, open_, strict=True)
            self.paired |= {at: one for one, at in pairs if self._same_section(one, at)}

    def _same_section(self, one: _MissingLine, at: int) -> bool:
        return key_of(self.items[at].section or "") in one.sections


class EditPlan:
    """The actions that follow from edits of MEMORY.md.

    What a person wrote has a person's trust, and never fades.

    Attributes:
        actions: what they change in the store.
        added: facts that were written into it.
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
        self.actions: list[Action] = []
        self.added: list[Record] = []
        self.corrected: list[Record] = []
        self.lines: list[str] = []
        for item in edits.added:
            self._add(item)
        for line in edits.changed:
            self._correct(known[line.id], line.item)
        for id_ in removed:
            heir = known[id_].superseded_by
            self.actions.append(Close(id_, self._now, REMOVED, superseded_by=heir))
            self.lines.append(f"- {id_} is forgotten: {REMOVED}")
        self.lines += [
            f"! {line.id} ended in memory while its line was changed: what was written is kept"
            for line in edits.conflicts
        ]

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
