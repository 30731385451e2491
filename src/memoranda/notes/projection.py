"""What a person changed in MEMORY.md, and what memory writes there. Pure: no file, no store.

Three things are compared: the lines that the file had when a store last read or wrote it, the file
as it is, and the records that are believed now. A line is known by its digest, so one that was only
moved is no edit; another wording is known by its place.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from memoranda.model.checks import content_hash
from memoranda.model.models import Record, Trust
from memoranda.model.notes import NotedLine, line_of
from memoranda.notes.document import Document, NoteItem, is_written_as, key_of
from memoranda.text.patterns import load

# More lines than this, and more than half of all, are not believed to be gone.
FEW = 2
# Stands in place of the digest of a line that a model left out: its fact is believed without one.
OMITTED = "omitted"
# Origin of a record whose words a person wrote into the file.
ORIGIN = "notes"
# How much more a fact must be believed than one in the file of its class to take its place.
ADVANTAGE = 0.2
# Characters of a heading.
LONGEST = 80


def digest_of(text: str) -> str:
    """Return the digest of a line."""
    return content_hash(line_of(text))


class Edits(NamedTuple):
    """The lines of a file that stand for records, and what a person changed.

    Attributes:
        lines: digests of the lines of believed records, by id: nothing is to be done.
        ended: bullets whose record ended or was erased, each with its id: never new evidence.
        changed: new wordings of what believed records say, by id: a correction each.
        removed: believed records whose line a person took out: a forgetting each.
        added: bullets that stand for no record: a new fact of a person each.
        restored: believed records so many of whose lines are gone that they are written again.
    """

    lines: Mapping[str, str]
    ended: Mapping[NoteItem, str]
    changed: Mapping[str, NoteItem]
    removed: Sequence[str]
    added: Sequence[NoteItem]
    restored: Sequence[str]

    def __bool__(self) -> bool:
        """Whether a person changed anything."""
        return bool(self.changed or self.removed or self.added)


def read_edits(
    base: Sequence[NotedLine],
    document: Document,
    active: Mapping[str, Record],
    *,
    accept_removals: bool = False,
) -> Edits:
    """Return what a person changed in ``document`` since it had the lines of ``base``.

    Args:
        base: the lines when the store last read or wrote the file, from top to bottom.
        document: the file as it is.
        active: the facts that are believed and that nothing took the place of, by id.
        accept_removals: many lines that are gone at once were meant; not those of a blank file.
    """
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for line in (*base, *(NotedLine(id_, digest_of(x.content)) for id_, x in active.items())):
        owners[line.digest].append(line.id)
    lines: dict[str, str] = {}
    ended: dict[NoteItem, str] = {}
    new: dict[int, NoteItem] = {}
    for at, item in enumerate(document.items):
        ids = owners.get(digest_of(item.text), ())
        believed = [id_ for id_ in ids if id_ in active]
        lines |= dict.fromkeys(believed, digest_of(item.text))
        if item.listed and ids and not believed:
            ended[item] = ids[0]
        elif item.listed and not ids:
            new[at] = item
    there = [line for line in base if line.id in active and line.digest != OMITTED]
    gone = {line.id: line.digest for line in there if line.id not in lines}
    changed = _reworded(there, document, active, gone, new)
    removed = [id_ for id_ in gone if id_ not in changed]
    many = len(removed) > FEW and 2 * len(removed) > len({line.id for line in there})
    undone = removed if document.blank or (many and not accept_removals) else []
    added = [item for item in new.values() if item not in changed.values()]
    return Edits(lines, ended, changed, [] if undone else removed, added, undone)


def _reworded(
    base: Sequence[NotedLine],
    document: Document,
    active: Mapping[str, Record],
    gone: Mapping[str, str],
    new: Mapping[int, NoteItem],
) -> dict[str, NoteItem]:
    """Return the new bullets that stand where a line is gone, between the same neighbours.

    Under the heading of one of them, or of the fact: what begins a section of its own is new.
    """
    old, now = [line.digest for line in base], [digest_of(item.text) for item in document.items]
    own = {id_: key_of(topic(active[id_])) for id_ in gone}
    found: dict[str, NoteItem] = {}
    if not gone or not new:
        return found
    for _, a, b, c, d in SequenceMatcher(None, old, now, autojunk=False).get_opcodes():
        neighbours = [*document.items[:c][-1:], *document.items[d:][:1]]
        near = {key_of(item.section or "") for item in neighbours}
        left = [line.id for line in base[a:b] if line.id in gone and line.id not in found]
        came = [new[at] for at in range(c, d) if at in new]
        found |= {
            id_: item
            for id_, item in zip(left, came, strict=False)
            if not near or key_of(item.section or "") in {*near, own[id_]}
        }
    return found


class Projection(NamedTuple):
    """The new content of MEMORY.md, and its lines that stand for records, from top to bottom."""

    text: str
    lines: Sequence[NotedLine]


def project(
    document: Document, facts: Collection[Record], *, max_bytes: int, lines: Mapping[str, str]
) -> Projection:
    """Return the new content of MEMORY.md, after its edits were read into the store.

    Where it would be larger than it may be (requirement S2.06), what is founded worst and believed
    least has no line, and what is long leaves its room to the shorter. The choice is steady:
    projecting again changes nothing.

    Args:
        document: the file as it is.
        facts: all facts that are to have a line. Those of the origin ``notes``, whose words a
            person wrote there, are never left out for size.
        max_bytes: how large the file may be, in bytes of UTF-8.
        lines: digests of the lines by which the file tells facts already, by id.
    """
    ordered = sorted(facts, key=lambda each: (_place(topic(each)), each.created_at, each.id))
    digests = {each.id: lines.get(each.id) or digest_of(each.content) for each in ordered}
    there = {digest_of(item.text) for item in document.items}
    new: dict[str, Record] = {}
    cost: Counter[str] = Counter()
    for item in document.bullets:
        cost[digest_of(item.text)] += sum(map(len, document.lines[item.start : item.stop]))
    for fact in ordered:
        digest, text = digests[fact.id], line_of(fact.content)
        if digest not in there and is_written_as(text):
            new.setdefault(digest, fact)
            cost[digest] = len(f"- {text}\n".encode())
    pinned = {digests[each.id] for each in facts if each.origin == ORIGIN}
    worst = sorted(facts, key=lambda each: _rank(each, digests[each.id] in there))
    queue = [each for each in (digests[fact.id] for fact in worst) if each not in pinned]
    out: dict[str, None] = {}
    whole = _without(document, new, out)
    while queue and (excess := whole.size - max_bytes) > 0:
        while queue and excess > 0:
            excess -= 0 if queue[0] in out else cost[queue[0]]
            out[queue.pop(0)] = None
        whole = _without(document, new, out)
    for digest in reversed(list(out)):
        if cost[digest] <= max_bytes - whole.size:
            more = _without(document, new, out.keys() - {digest})
            if more.size <= max_bytes:
                del out[digest]
                whole = more
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for id_, digest in digests.items():
        owners[digest].append(id_)
    told = map(digest_of, (item.text for item in whole.items))
    noted = [NotedLine(id_, digest) for digest in told for id_ in owners.get(digest, ())]
    return Projection(whole.render(), list(dict.fromkeys(noted)))


def _without(document: Document, new: Mapping[str, Record], out: Collection[str]) -> Document:
    """Return the document with the new facts, without the lines that are left out."""
    gone = {item: None for item in document.bullets if digest_of(item.text) in out}
    kept = [each for digest, each in new.items() if digest not in out]
    left = document.patch(gone)
    return left.add([(topic(each), line_of(each.content)) for each in kept])


def _rank(fact: Record, there: bool) -> tuple[int, float, bool]:  # noqa: FBT001 - its one caller
    """Return by what facts leave a full file: founded worst, then believed least, then new."""
    fading = 0 if fact.decay_rate == 0 else 1
    founded = fading if fact.trust is Trust.PERSON else 2
    return -founded, round(fact.confidence + ADVANTAGE * there, 6), there


# Under which heading of MEMORY.md a fact stands


def topic(record: Record) -> str:
    """Return the heading for a record: where a person put it, else by what it is about.

    A record that was read from a line under a heading has that heading in its attribute
    ``section``; one that consolidation learned has the attribute ``category``. What is no person's
    word stands apart, so that no reader takes it for one.
    """
    if record.trust is not Trust.PERSON:
        return heading_for(Trust.AGENT)
    section = record.metadata.get("section")
    # As a heading can have it: one line, no marks around it, not too long.
    if isinstance(section, str) and (title := line_of(section)[:LONGEST].strip("# \t")):
        return title
    return heading_for(str(record.metadata.get("category")))


def heading_for(category: str) -> str:
    """Return the heading for facts of a category."""
    headings: Mapping[str, str] = load("en", "notes")["headings"]
    return headings.get(category, headings["other"])


def _place(title: str) -> int:
    """Return where a heading comes in a new file; those of a person come last."""
    own = [*load("en", "notes")["headings"].values()]
    return own.index(title) if title in own else len(own)
