"""Projects the active facts onto MEMORY.md, keeping what a person wrote there.

The file is patched, bullet by bullet; a blank one begins anew. Where it would be larger than it
may be (requirement S2.06), what is founded worst and believed least has no line. What a person
wrote there by hand is never left out by these rules. The choice is steady: what is in the file has
an advantage, and projecting again changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memoranda.model.models import Record, Trust
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import TITLE, Document, NoteItem, bare, is_written_as, key_of
from memoranda.notes.edits import NO_EDITS, ORIGIN, Edits, digest_of
from memoranda.notes.topics import own_titles, place, topic

# How much more a fact must be believed than one in the file of its class to take its place.
ADVANTAGE = 0.2
NONE_KNOWN: Mapping[str, Record] = {}


@dataclass(frozen=True, slots=True)
class Projection:
    """The new content of MEMORY.md.

    Attributes:
        text: the whole file.
        lines: the lines of the file that stand for records, from top to bottom, for ``KeepNotes``.
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
    known: Mapping[str, Record] = NONE_KNOWN,
) -> Projection:
    """Return the new content of MEMORY.md, after its edits were read into the store.

    Args:
        document: the file as it is.
        facts: all facts that are to have a line, ranked, best first. Those of the origin
            ``notes``, whose words a person wrote there, are never left out for size.
        max_bytes: how large the file may be, in bytes of UTF-8.
        edits: ``read_edits`` of this document, read again after its edits were applied.
        known: records by id, to find what took the place of one that ended.
    """
    owners: dict[str, list[str]] = {}
    for line in edits.lines:
        owners.setdefault(digest_of(line.item.text), []).append(line.id)
    for fact in facts:
        ids = owners.setdefault(digest_of(fact.content), [])
        if fact.id not in ids:
            ids.append(fact.id)
    texts, changes = _replace_ended(edits, facts, known)
    needed = {topic(fact) for fact in facts if fact.id not in edits.told}
    draft = _FileDraft(document.patch(texts, set(own_titles()) - needed), facts, owners, edits.told)
    final = draft.fitted(max_bytes)
    digests = [digest_of(item.text) for item in final.bullets]
    lines = [NotedLine(id_, each) for each in digests for id_ in owners.get(each, ())]
    lines += edits.prose
    there = {line.id for line in lines}
    by_id = {fact.id: fact for fact in facts}
    dropped = tuple(
        id_ for id_ in dict.fromkeys(line.id for line in edits.lines) if id_ not in there
    )
    why = f"left out to keep the file within {max_bytes:,} bytes"
    changes += [f"{_quoted(by_id[id_].content)}: {why}" for id_ in dropped if id_ in by_id]
    over = max(0, _size_of(final) - max_bytes)
    return Projection(final.render(), tuple(dict.fromkeys(lines)), dropped, over, tuple(changes))


def _replace_ended(
    edits: Edits, facts: Sequence[Record], known: Mapping[str, Record]
) -> tuple[dict[NoteItem, str | None], list[str]]:
    """Return the new texts of bullets whose records ended, and a line on each of them."""
    by_id = {fact.id: fact for fact in facts}
    texts: dict[NoteItem, str | None] = {line.item: None for line in edits.erased}
    changes = ["a line of an erased record was taken out"] * len(texts)
    here = set(edits.told)
    said = {digest_of(line.item.text) for line in edits.lines}
    for line in edits.stale:
        at, seen = line.id, {""}
        while at not in by_id and at in known and at not in seen:
            seen.add(at)
            at = known[at].superseded_by or ""
        heir = by_id.get(at)
        text, why = None, "no longer believed"
        if heir is not None and (heir.id in here or digest_of(heir.content) in said):
            why = "said by another line"
        elif heir is not None and is_written_as(line_of(heir.content)):
            here.add(heir.id)
            text = line_of(heir.content)
            why = f"replaced by {_quoted(text)}"
        texts[line.item] = text
        changes.append(f"{_quoted(line.item.text)}: {why}")
    return texts, changes


class _Candidate(NamedTuple):
    """A fact that may have a line: its bullets in the file, or none, its bytes and its heading."""

    fact: Record
    items: tuple[NoteItem, ...]
    cost: int
    title: str | None


class _FileDraft:
    """A file in the making: its text, and which bullet stands for which record."""

    def __init__(
        self,
        document: Document,
        facts: Sequence[Record],
        owners: Mapping[str, Sequence[str]],
        told: Collection[str],
    ) -> None:
        self.document, self.facts = document, facts
        self.items: dict[str, list[NoteItem]] = {}
        digests: set[str] = set()
        for item in document.bullets:
            digests.add(digest_of(item.text))
            for id_ in owners.get(digest_of(item.text), ()):
                self.items.setdefault(id_, []).append(item)
        self.new: list[Record] = []
        for fact in facts:
            digest = digest_of(fact.content)
            if fact.id in self.items or fact.id in told or digest in digests:
                continue
            if is_written_as(line_of(fact.content)):
                digests.add(digest)
                self.new.append(fact)

    def fitted(self, max_bytes: int) -> Document:
        """Return the file with what is missing, as far as there is room."""
        whole = self._with(self.new, ())
        if _size_of(whole) <= max_bytes:
            return whole
        by_hand = [fact for fact in self.new if fact.origin == ORIGIN]
        there = [fact for fact in self.facts if fact.id in self.items]
        candidates = [self._candidate(x) for x in (*there, *self.new) if x.origin != ORIGIN]
        candidates.sort(key=_order)
        kept = self._choose(candidates, by_hand, max_bytes)
        while True:
            ids = {each.fact.id for each in kept}
            gone = [each for each in candidates if each.fact.id not in ids]
            fitted = self._with([*by_hand, *(e.fact for e in kept if not e.items)], gone)
            if not kept or _size_of(fitted) <= max_bytes:
                return fitted
            kept.pop()

    def _choose(
        self, candidates: Sequence[_Candidate], by_hand: Sequence[Record], max_bytes: int
    ) -> list[_Candidate]:
        """Return the candidates for which there is room, the best first."""
        bones = self._with(by_hand, candidates)
        end = len(bones.eol)
        open_end = bool(bones.lines) and bare(bones.lines[-1]) == bones.lines[-1]
        room = max_bytes - (_size_of(bones) or len(TITLE) + end) - open_end * end
        made = {key_of(each.text) for each in bones.headings if each.level > 1}
        kept = []
        for each in candidates:
            cost, key = each.cost, each.title and key_of(each.title)
            if key and key not in made:
                cost += len(f"## {each.title}".encode()) + 3 * end
            if cost <= room:
                kept.append(each)
                room -= cost
                made.add(key or "")
        return kept

    def _with(self, new: Iterable[Record], gone: Iterable[_Candidate]) -> Document:
        """Return the file with new facts, by topic and then by age, and without others."""
        added = sorted(new, key=lambda each: (place(topic(each)), each.created_at, each.id))
        texts: dict[NoteItem, str | None] = {item: None for each in gone for item in each.items}
        left = self.document.patch(texts, set(own_titles()) - {topic(each) for each in added})
        return left.add([(topic(each), line_of(each.content)) for each in added])

    def _candidate(self, fact: Record) -> _Candidate:
        """Return a fact with the bytes of its line or lines, and the heading it stands under."""
        items = tuple(self.items.get(fact.id, ()))
        if not items:
            cost = len(f"- {line_of(fact.content)}{self.document.eol}".encode())
            return _Candidate(fact, items, cost, topic(fact))
        lines = [line for item in items for line in self.document.lines[item.start : item.stop]]
        cost = sum(len(line.encode("utf-8", "replace")) for line in lines)
        return _Candidate(fact, items, cost, items[0].section)


def _order(one: _Candidate) -> tuple[int, float, bool]:
    """Return by what candidates are chosen: founded best, then believed most, then in the file."""
    fact = one.fact
    fading = 0 if fact.decay_rate == 0 else 1
    founded = fading if fact.trust is Trust.PERSON else 2
    belief = fact.confidence + (ADVANTAGE if one.items else 0.0)
    return founded, -round(belief, 6), not one.items


def _size_of(document: Document) -> int:
    """Return the bytes of a document in UTF-8."""
    return len(document.render().encode("utf-8", "replace"))


def _quoted(text: str, most: int = 80) -> str:
    text = line_of(text)
    return f'"{text}"' if len(text) <= most else f'"{text[: most - 1]}…"'
