"""Projects the active facts onto MEMORY.md, keeping what a person wrote there.

A file that exists is patched, line by line; only one that does not, or is blank, is rendered.
Where it would be larger than it may be (requirement S2.06), rules choose what stays: of near
duplicates only the better one, then what was superseded goes, then what ranks lowest. What a
person wrote there by hand is never left out. The choice is steady: what is in the file has an
advantage, and projecting again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from memoranda.model.models import Record, Trust
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import Document, parse, start
from memoranda.notes.edits import NO_EDITS, Edits, digest_of, shared, words
from memoranda.notes.markdown import Block, NoteItem
from memoranda.notes.topics import TITLES, key_of, place, topic

NEAR = 0.75
"""Share of common words (Jaccard index) from which two lines say the same."""
ADVANTAGE = 0.2
"""How much more a fact must be believed than one in the file of its class to take its place."""


@dataclass(frozen=True, slots=True)
class LineCandidate:
    """A fact that may stand in the file.

    Attributes:
        record: the fact.
        cost: bytes of its line or lines.
        present: whether it is in the file already.
        heading: the heading that it needs and that would have to be made.
    """

    record: Record
    cost: int
    present: bool
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class FactChoice:
    """The chosen facts, best first, and which others nearly repeat one of them."""

    kept: tuple[str, ...]
    near: frozenset[str]


def choose(
    candidates: Sequence[LineCandidate],
    *,
    room: int,
    fixed: Iterable[str] = (),
    preferred: AbstractSet[str] | None = None,
) -> FactChoice:
    """Return which candidates fit into ``room`` bytes.

    Args:
        candidates: the facts, ranked, best first.
        room: bytes for their lines and for headings that they need.
        fixed: lines that stay in any case: what nearly repeats one of them goes.
        preferred: ids that are to stay before all others.
    """
    seen = [frozenset(words(text)) for text in fixed]
    headings: set[str] = set()
    kept: list[str] = []
    near: set[str] = set()
    for one in _ordered(candidates, preferred):
        cost = one.cost
        if one.heading is not None and one.heading not in headings:
            cost += (
                len(f"## {one.heading}".encode()) + 3
            )  # Its line end, a blank line on each side.
        if cost > room:
            continue
        wording = frozenset(words(one.record.content))
        if any(shared(wording, other) >= NEAR for other in seen):
            near.add(one.record.id)
            continue
        room -= cost
        seen.append(wording)
        kept.append(one.record.id)
        headings.update([one.heading] if one.heading is not None else [])
    return FactChoice(tuple(kept), frozenset(near))


def _ordered(
    candidates: Sequence[LineCandidate], preferred: AbstractSet[str] | None
) -> list[LineCandidate]:
    """Return the candidates in the order in which they are taken."""

    def order(rank: int) -> tuple[bool, int, float, bool, int]:
        one = candidates[rank]
        others = preferred is not None and one.record.id not in preferred
        belief = one.record.confidence + (ADVANTAGE if one.present else 0.0)
        return others, _class_of(one.record), -round(belief, 6), not one.present, rank

    return [candidates[rank] for rank in sorted(range(len(candidates)), key=order)]


def _class_of(record: Record) -> int:
    """Return how well a fact is founded, the best first: as a store ranks what is standing."""
    if record.superseded_by is not None:
        return 3
    if record.trust is not Trust.PERSON:
        return 2
    return 0 if record.decay_rate == 0 else 1


ORIGIN = "notes"
"""Origin of a record whose words a person wrote into the file."""
_ROUNDS = 8
_FENCE = re.compile("`{3,}|~{3,}")


@dataclass(frozen=True, slots=True)
class Projection:
    """The new content of MEMORY.md.

    Attributes:
        text: the whole file.
        lines: the lines of it that tell records, from top to bottom, for ``KeepNotes``.
        dropped: believed facts that were in the file and are left out now for size.
        left_out: believed facts that were not in it and find no room, the best first.
        over: bytes by which it is larger than it may be, though all is out that may go.
        changes: what was taken out or replaced, and why, a line each.
    """

    text: str
    lines: tuple[NotedLine, ...] = ()
    dropped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    over: int = 0
    changes: tuple[str, ...] = ()


def project(
    document: Document | None,
    facts: Sequence[Record],
    *,
    max_bytes: int,
    edits: Edits = NO_EDITS,
    known: Mapping[str, Record] | None = None,
    handwritten: AbstractSet[str] | None = None,
    preferred: AbstractSet[str] | None = None,
) -> Projection:
    """Return the new content of MEMORY.md, after its edits were read into the store.

    Args:
        document: the file as it is; ``None`` where there is none.
        facts: all facts that are worth a line, ranked, best first.
        max_bytes: how large the file may be, in bytes of UTF-8.
        edits: ``read_edits`` of this document, read again after its edits were applied, with
            the lines that became records in the base.
        known: records by id, to find what took the place of one that ended.
        handwritten: facts whose words a person wrote there, which are never left out for size;
            ``None`` for those of the origin ``notes``.
        preferred: facts that a model chose to keep; others go first.
    """
    if handwritten is None:
        handwritten = {each.id for each in facts if each.origin == ORIGIN}
    draft = _FileDraft(facts, max_bytes, handwritten, preferred)
    there = document if document is not None else parse("")
    if edits.cut_short:
        there = _whole_lines(there, edits)
    draft.take(there, edits, known or {})
    for _ in range(_ROUNDS):
        before = draft.document.render()
        draft.fit()
        if draft.document.render() == before:
            break
    return draft.projection(edits)


def _whole_lines(document: Document, edits: Edits) -> Document:
    """Return a file that was cut short so that it can be gone on with.

    What was open at its end is closed; else the rest of a line that tells nothing goes.
    """
    text, end = document.render(), len(document.lines)
    if document.unclosed is not None:
        opened = document.lines[document.unclosed]
        fence = _FENCE.search(opened)
        closing = "-->" if fence is None or "<!--" in opened else fence[0]
        return parse(f"{text}{document.eol}{closing}{document.eol}")
    if not end or any(line.item.stop == end for line in (*edits.lines, *edits.stale)):
        return document
    return parse(document.mark + "".join(document.lines[:-1]))


@dataclass
class _FileDraft:
    """A file in the making: its text, and which item tells which record."""

    facts: Sequence[Record]
    max_bytes: int
    handwritten: AbstractSet[str]
    preferred: AbstractSet[str] | None
    document: Document = field(default_factory=lambda: parse(""))
    owners: dict[str, str] = field(default_factory=dict)
    near: frozenset[str] = frozenset()
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_id = {each.id: each for each in self.facts}
        self.digests = {each.id: digest_of(line_of(each.content)) for each in self.facts}

    def take(self, document: Document, edits: Edits, known: Mapping[str, Record]) -> None:
        """Take over the file: what is believed stays, what ended is replaced or goes."""
        for line in edits.lines:
            self.owners[digest_of(line.item.text)] = line.id
        for each in self.facts:
            self.owners.setdefault(self.digests[each.id], each.id)
        gone = [line.item for line in edits.erased]
        self.changes += ["a line of an erased record was taken out"] * len(gone)
        replaced: dict[NoteItem, str] = {}
        ended = {line.item for line in edits.stale}
        there = {digest_of(item.text) for item in document.items if item not in ended}
        here = {line.id for line in edits.lines}
        for line in edits.stale:
            successor = self._successor(line.id, known)
            why = "no longer believed"
            if successor is None or successor.id in here or self.digests[successor.id] in there:
                gone.append(line.item)
                why = why if successor is None else "said by another line"
            else:
                here.add(successor.id)
                replaced[line.item] = line_of(successor.content)
                why = f"replaced by {_quoted(replaced[line.item])}"
            self.changes.append(f"{_quoted(line.item.text)}: {why}")
        self._replace(document, replaced, gone)

    def _replace(
        self, document: Document, texts: Mapping[NoteItem, str], gone: list[NoteItem]
    ) -> None:
        """Remove and replace in one pass: both are given as items of ``document``."""
        starts = {item.start for item in gone}
        at = [index for index, item in enumerate(document.items) if item.start in starts]
        patched = document.replace(texts)
        if len(patched.items) == len(document.items):
            gone = [patched.items[index] for index in at]
            self.document = patched.remove(gone, own=TITLES, keep=self._needed(patched, gone))
        else:  # A text that reads as something else where it would stand: made anew elsewhere.
            self.document = document.remove([*gone, *texts], own=TITLES)

    def _needed(self, document: Document, gone: Sequence[NoteItem]) -> set[str]:
        """Return the headings under which something will stand that is not in the file yet."""
        left = {digest_of(item.text) for item in document.items if item not in gone}
        there = {self.owners.get(digest) for digest in left}
        return {
            topic(each)
            for each in self.facts
            if self.digests[each.id] not in left and each.id not in there
        }

    def _successor(self, id: str, known: Mapping[str, Record]) -> Record | None:
        """Return the standing fact at the end of the chain of replacements."""
        seen: set[str] = set()
        at = id
        while at not in self.by_id and at in known and at not in seen:
            seen.add(at)
            at = known[at].superseded_by or ""
        return self.by_id.get(at)

    def fit(self) -> None:
        """Add what is missing, as far as there is room; take out what has to go."""
        present = set(map(self._owner, self.document.items))
        lines = {digest_of(item.text) for item in self.document.items}
        new: list[Record] = []
        for each in self.facts:
            if each.id not in present and self.digests[each.id] not in lines:
                lines.add(self.digests[each.id])
                new.append(each)
        whole = self._added(self.document, new)
        if not self._over(whole):
            self.document = whole
            return
        self._compact(new)

    def _owner(self, item: NoteItem) -> str | None:
        return self.owners.get(digest_of(item.text))

    def _over(self, document: Document) -> int:
        return max(0, size_of(document) - self.max_bytes)

    def _added(self, document: Document, new: Sequence[Record]) -> Document:
        """Return ``document`` with lines of ``new`` facts, by topic and then by age."""
        ordered = sorted(new, key=lambda each: (place(topic(each)), each.created_at, each.id))
        lines = [(topic(each), line_of(each.content)) for each in ordered]
        whole = start(lines) if document.blank and lines else document.add(lines)
        if len(whole.items) != len(document.items) + len(lines):
            return self._added_safely(document, ordered)
        return whole

    def _added_safely(self, document: Document, new: Sequence[Record]) -> Document:
        """Add one by one, without what would be read as something else in this file."""
        for each in new:
            line = (topic(each), line_of(each.content))
            whole = start([line]) if document.blank else document.add([line])
            if len(whole.items) == len(document.items) + 1:
                document = whole
        return document

    def _compact(self, new: Sequence[Record]) -> None:
        """Choose what stays, and give up the last of it until the file fits."""
        items: dict[str, list[NoteItem]] = {}
        for item in self.document.items:
            owner = self._owner(item)
            if owner in self.by_id and owner not in self.handwritten:
                items.setdefault(owner, []).append(item)
        droppable = [item for each in items.values() for item in each]
        by_hand = [each for each in new if each.id in self.handwritten]
        bones = self._added(self.document.remove(droppable, own=TITLES), by_hand)
        candidates = self._candidates(items, new, bones)
        room = self.max_bytes - size_of(bones)
        texts = [item.text for item in bones.items]
        choice = choose(candidates, room=room, fixed=texts, preferred=self.preferred)
        self.near = choice.near
        kept = list(choice.kept)
        while self._over(fitted := self._with(set(kept), items, new)) and kept:
            kept.pop()
        self.document = fitted

    def _with(
        self, kept: set[str], items: Mapping[str, Sequence[NoteItem]], new: Sequence[Record]
    ) -> Document:
        """Return the file with only these of the facts that may be left out."""
        gone = [item for name, each in items.items() if name not in kept for item in each]
        added = [each for each in new if each.id in kept or each.id in self.handwritten]
        keep = {topic(each) for each in added}
        return self._added(self.document.remove(gone, own=TITLES, keep=keep), added)

    def _candidates(
        self, items: Mapping[str, Sequence[NoteItem]], new: Sequence[Record], bones: Document
    ) -> list[LineCandidate]:
        there = {key_of(each.text) for each in bones.headings if each.level > 1}
        fresh = {each.id for each in new} - self.handwritten
        eol = len(self.document.eol)
        found = []
        for each in self.facts:
            if each.id in items:
                cost = sum(self._bytes(item) for item in items[each.id])
                title = items[each.id][0].section
            elif each.id in fresh:
                cost = len(f"- {line_of(each.content)}".encode()) + eol
                title = topic(each)
            else:
                continue
            made = title is not None and key_of(title) not in there
            found.append(LineCandidate(each, cost, each.id in items, title if made else None))
        return found

    def _bytes(self, item: NoteItem) -> int:
        """Return what the file saves without an item: its lines, a blank one between two."""
        document = self.document
        blank = [document.kinds[at] is Block.BLANK for at in range(len(document.lines))]
        before = item.start == 0 or blank[item.start - 1]
        after = item.stop < len(blank) and blank[item.stop]
        lines = document.lines[item.start : item.stop + (before and after)]
        return sum(len(line.encode("utf-8", "replace")) for line in lines)

    def projection(self, edits: Edits) -> Projection:
        """Return the file, and what became of the facts."""
        lines = [
            NotedLine(owner, digest_of(item.text))
            for item in self.document.items
            if (owner := self._owner(item)) is not None
        ]
        there = {line.digest for line in lines}
        ids = {line.id for line in lines}
        was = dict.fromkeys(line.id for line in edits.lines)
        out = [
            each.id
            for each in self.facts
            if each.id not in ids and self.digests[each.id] not in there
        ]
        dropped = tuple(each for each in was if each in out)
        return Projection(
            text=self.document.render(),
            lines=tuple(lines),
            dropped=dropped,
            left_out=tuple(each for each in out if each not in was),
            over=self._over(self.document),
            changes=(*self.changes, *map(self._why, dropped)),
        )

    def _why(self, id: str) -> str:
        text = _quoted(line_of(self.by_id[id].content))
        if id in self.near:
            return f"{text}: left out, another line says nearly the same"
        return f"{text}: left out to keep the file within {self.max_bytes:,} bytes"


def size_of(document: Document) -> int:
    """Return the bytes of a document in UTF-8."""
    return len(document.render().encode("utf-8", "replace"))


def _quoted(text: str, most: int = 80) -> str:
    return f'"{text}"' if len(text) <= most else f'"{text[: most - 1]}…"'
