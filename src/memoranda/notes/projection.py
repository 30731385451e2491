"""Projects the active facts onto MEMORY.md, keeping what a person wrote there.

A file that exists is patched, line by line; only one that does not, or is blank, is rendered.
Where it would be larger than it may be (requirement S2.06), rules choose what stays: of near
duplicates only the better one, then what was superseded goes, then what ranks lowest. What a
person wrote there by hand is never left out. The choice is steady: what is in the file has an
advantage, and projecting again changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from memoranda.model.models import Record, Trust
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import BlockKind, Document, NoteItem, key_of, parse
from memoranda.notes.edits import NO_EDITS, ORIGIN, Edits, digest_of, noted_line, shared, words
from memoranda.notes.topics import own_titles, place, topic
from memoranda.text.patterns import compile_pattern

# Share of common words (Jaccard index) from which two lines say the same.
NEAR = 0.75
# How much more a fact must be believed than one in the file of its class to take its place.
ADVANTAGE = 0.2
ROUNDS = 8
_FENCE = compile_pattern("`{3,}|~{3,}")


class LineCandidate(NamedTuple):
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


def choose(
    candidates: Sequence[LineCandidate],
    *,
    room: int,
    fixed: Iterable[str] = (),
    preferred: AbstractSet[str] | None = None,
) -> tuple[list[str], set[str]]:
    """Return which candidates fit into ``room`` bytes, and which nearly repeat a chosen line.

    Args:
        candidates: the facts, ranked, best first.
        room: bytes for their lines and for headings that they need.
        fixed: lines that stay in any case: what nearly repeats one of them goes.
        preferred: ids that are to stay before all others.
    """

    def order(one: LineCandidate) -> tuple[bool, int, float, bool]:
        others = preferred is not None and one.record.id not in preferred
        belief = one.record.confidence + (ADVANTAGE if one.present else 0.0)
        return others, _class_of(one.record), -round(belief, 6), not one.present

    seen = [frozenset(words(text)) for text in fixed]
    headings: set[str | None] = {None}
    kept: list[str] = []
    near: set[str] = set()
    for one in sorted(candidates, key=order):
        cost = one.cost
        if one.heading not in headings:  # Its line end, a blank line on each side.
            cost += len(f"## {one.heading}".encode()) + 3
        if cost > room:
            continue
        wording = frozenset(words(one.record.content))
        if any(shared(wording, other) >= NEAR for other in seen):
            near.add(one.record.id)
            continue
        room -= cost
        seen.append(wording)
        kept.append(one.record.id)
        headings.add(one.heading)
    return kept, near


def _class_of(record: Record) -> int:
    """Return how well a fact is founded, the best first: as a store ranks what is standing."""
    if record.superseded_by is not None:
        return 3
    if record.trust is not Trust.PERSON:
        return 2
    return 0 if record.decay_rate == 0 else 1


@dataclass(frozen=True, slots=True)
class Projection:
    """The new content of MEMORY.md.

    Attributes:
        text: the whole file.
        lines: the lines of it that tell records, from top to bottom, for ``KeepNotes``.
        dropped: believed facts that were in the file and are left out now for size.
        over: bytes by which it is larger than it may be, though all is out that may go.
        changes: what was taken out or replaced, and why, a line each.
    """

    text: str
    lines: tuple[NotedLine, ...] = ()
    dropped: tuple[str, ...] = ()
    over: int = 0
    changes: tuple[str, ...] = ()


def project(
    document: Document,
    facts: Sequence[Record],
    *,
    max_bytes: int,
    edits: Edits = NO_EDITS,
    known: Mapping[str, Record] | None = None,
    preferred: AbstractSet[str] | None = None,
) -> Projection:
    """Return the new content of MEMORY.md, after its edits were read into the store.

    Args:
        document: the file as it is.
        facts: all facts that are worth a line, ranked, best first. Those of the origin
            ``notes``, whose words a person wrote there, are never left out for size.
        max_bytes: how large the file may be, in bytes of UTF-8.
        edits: ``read_edits`` of this document, read again after its edits were applied, with
            the lines that became records in the base.
        known: records by id, to find what took the place of one that ended.
        preferred: facts that a model chose to keep; others go first.
    """
    draft = _FileDraft(facts, max_bytes, preferred)
    whole = _whole_lines(document, edits) if edits.cut_short else document
    draft.take(whole, edits, known or {})
    for _ in range(ROUNDS):
        before = draft.document.render()
        draft.fit()
        if draft.document.render() == before:
            break
    return draft.projection(edits)


def _whole_lines(document: Document, edits: Edits) -> Document:
    """Return a file that was cut short so that it can be gone on with.

    What was open at its end is closed; else the rest of a line that tells nothing goes.
    """
    end = len(document.lines)
    if document.unclosed is not None:
        opened = document.lines[document.unclosed]
        fence = _FENCE.search(opened)
        closing = "-->" if fence is None or "<!--" in opened else fence[0]
        return parse(f"{document.render()}{document.eol}{closing}{document.eol}")
    if not end or any(line.item.stop == end for line in (*edits.lines, *edits.stale)):
        return document
    return parse(document.mark + "".join(document.lines[:-1]))


class _FileDraft:
    """A file in the making: its text, and which item tells which record."""

    def __init__(
        self, facts: Sequence[Record], max_bytes: int, preferred: AbstractSet[str] | None
    ) -> None:
        self.facts, self.max_bytes, self.preferred = facts, max_bytes, preferred
        self.document = parse("")
        self.by_id = {each.id: each for each in facts}
        self.digests = {each.id: digest_of(each.content) for each in facts}
        self.owners: dict[str, str] = {}
        self.near: set[str] = set()
        self.changes: list[str] = []

    def take(self, document: Document, edits: Edits, known: Mapping[str, Record]) -> None:
        """Take over the file: what is believed stays, what ended is replaced or goes."""
        self.owners = {digest_of(line.item.text): line.id for line in edits.lines}
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
            if successor is None:
                why = "no longer believed"
                gone.append(line.item)
            elif successor.id in here or self.digests[successor.id] in there:
                why = "said by another line"
                gone.append(line.item)
            else:
                here.add(successor.id)
                replaced[line.item] = line_of(successor.content)
                why = f"replaced by {_quoted(replaced[line.item])}"
            self.changes.append(f"{_quoted(line.item.text)}: {why}")
        patched = document.replace(replaced)
        if len(patched.items) != len(document.items):
            # A text that reads as something else where it would stand: made anew elsewhere.
            self.document = document.remove([*gone, *replaced], titles=own_titles())
            return
        starts = {item.start for item in gone}
        pairs = zip(document.items, patched.items, strict=True)
        gone = [new for old, new in pairs if old.start in starts]
        left = {digest_of(item.text) for item in patched.items if item not in gone}
        told = {self.owners.get(digest) for digest in left}
        # Headings stay under which something will stand that is not in the file yet.
        needed = {
            topic(each)
            for each in self.facts
            if self.digests[each.id] not in left and each.id not in told
        }
        self.document = patched.remove(gone, titles=set(own_titles()) - needed)

    def _successor(self, id: str, known: Mapping[str, Record]) -> Record | None:
        """Return the standing fact at the end of the chain of replacements."""
        at, seen = id, {""}
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
        self.document = self._compact(new) if self._over(whole) else whole

    def _owner(self, item: NoteItem) -> str | None:
        return self.owners.get(digest_of(item.text))

    def _over(self, document: Document) -> int:
        return max(0, _size_of(document) - self.max_bytes)

    def _added(self, document: Document, new: Iterable[Record]) -> Document:
        """Return ``document`` with lines of ``new`` facts, by topic and then by age."""
        ordered = sorted(new, key=lambda each: (place(topic(each)), each.created_at, each.id))
        lines = [(topic(each), line_of(each.content)) for each in ordered]
        whole = document.add(lines)
        if len(whole.items) == len(document.items) + len(lines):
            return whole
        for line in lines:  # Without what would be read as something else in this file.
            whole = document.add([line])
            if len(whole.items) == len(document.items) + 1:
                document = whole
        return document

    def _compact(self, new: Sequence[Record]) -> Document:
        """Choose what stays, and give up the last of it until the file fits."""
        by_hand = {each.id for each in self.facts if each.origin == ORIGIN}
        items: dict[str, list[NoteItem]] = {}
        for item in self.document.items:
            owner = self._owner(item)
            if owner in self.by_id and owner not in by_hand:
                items.setdefault(owner, []).append(item)

        def with_only(kept: Collection[str], *, keep: bool = True) -> Document:
            """Return the file with only these of the facts that may be left out."""
            gone = [item for name, each in items.items() if name not in kept for item in each]
            added = [each for each in new if each.id in kept or each.id in by_hand]
            titles = set(own_titles()) - {topic(each) for each in added if keep}
            return self._added(self.document.remove(gone, titles=titles), added)

        bones = with_only((), keep=False)
        there = {key_of(each.text) for each in bones.headings if each.level > 1}
        fresh = {each.id for each in new} - by_hand
        candidates = []
        for each in self.facts:
            if each.id in items:
                cost = sum(self._bytes(item) for item in items[each.id])
                title = items[each.id][0].section
            elif each.id in fresh:
                cost = len(f"- {line_of(each.content)}".encode()) + len(self.document.eol)
                title = topic(each)
            else:
                continue
            made = title is not None and key_of(title) not in there
            candidates.append(LineCandidate(each, cost, each.id in items, title if made else None))
        texts = [item.text for item in bones.items]
        room = self.max_bytes - _size_of(bones)
        kept, self.near = choose(candidates, room=room, fixed=texts, preferred=self.preferred)
        fitted = with_only(set(kept))
        while kept and self._over(fitted):
            kept.pop()
            fitted = with_only(set(kept))
        return fitted

    def _bytes(self, item: NoteItem) -> int:
        """Return what the file saves without an item: its lines, a blank one between two."""
        kinds, stop = self.document.kinds, item.stop
        before = item.start == 0 or kinds[item.start - 1] is BlockKind.BLANK
        after = stop < len(kinds) and kinds[stop] is BlockKind.BLANK
        lines = self.document.lines[item.start : stop + (before and after)]
        return sum(len(line.encode("utf-8", "replace")) for line in lines)

    def projection(self, edits: Edits) -> Projection:
        """Return the file, and what became of the facts."""
        owners = [(self._owner(item), item.text) for item in self.document.items]
        lines = tuple(noted_line(owner, text) for owner, text in owners if owner is not None)
        there, ids = {line.digest for line in lines}, {line.id for line in lines}
        was = dict.fromkeys(line.id for line in edits.lines)
        dropped = tuple(
            each
            for each in was
            if each in self.by_id and each not in ids and self.digests[each] not in there
        )
        over = self._over(self.document)
        changes = (*self.changes, *map(self._why, dropped))
        return Projection(self.document.render(), lines, dropped, over, changes)

    def _why(self, id: str) -> str:
        text = _quoted(line_of(self.by_id[id].content))
        if id in self.near:
            return f"{text}: left out, another line says nearly the same"
        return f"{text}: left out to keep the file within {self.max_bytes:,} bytes"


def _size_of(document: Document) -> int:
    """Return the bytes of a document in UTF-8."""
    return len(document.render().encode("utf-8", "replace"))


def _quoted(text: str, most: int = 80) -> str:
    return f'"{text}"' if len(text) <= most else f'"{text[: most - 1]}…"'
