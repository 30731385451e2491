"""The memories of other programs, as records: mem0, the MCP memory server, Chroma, Markdown.

- Of mem0, what its ``get_all`` returns, what its export holds, or what its store keeps in files: a
  fact with its metadata, its time and its end, of the user whom its ``user_id`` names; without one,
  of the user who imports. Memories of an ``agent_id`` are that agent's.
- The knowledge graph of the reference memory server of MCP, ``memory.jsonl`` (version 2026.8 of
  ``@modelcontextprotocol/server-memory``), or what ``read_graph`` returns: each observation becomes
  a fact that names its entity, each relation a sentence. The file has no times.
- Memories in the collection ``memories`` of a folder of Chroma that another program wrote, such as
  the memory manager of requirements S1: the text is the document, and its type and time are in the
  metadata. They keep their times, and expire when they would have there.
- Markdown memories of agents: bullets and paragraphs, and entries of histories. Read are, in a
  folder, its own Markdown files that are named as memories are (``MEMORY.md``, ``CLAUDE.md``,
  ``HISTORY*.md``, ``YYYY-MM-DD.md``) and all Markdown in ``memory/``.

What the first two hold a model wrote down: it is the word of an agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import parse_moment
from memoranda.model.models import Kind, Mention, Scope, Trust
from memoranda.notes.document import parse
from memoranda.records.drafts import Draft, parse_kind
from memoranda.store.locations import foreign_memories
from memoranda.store.sql.store import ForeignMemory
from memoranda.text.entity_labels import entity_type
from memoranda.text.json_values import list_of, object_of, value_of, words_of
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.transfer.sources import (
    File,
    ForeignRecord,
    ImportCounts,
    ImportTarget,
    moment_of,
    read_values,
    reading_file,
    tags_of,
    text_of,
)

# What is kept with a fact, as ``mem0_id`` and so on.
KEPT = ("id", "updated_at", "run_id", "app_id", "actor_id", "expiration_date")
# What else mem0 keeps beside the metadata of a memory, and what it makes of its text.
BESIDE = ("user_id", "agent_id", "role", "created_at")
DERIVED = frozenset({"hash", "text_lemmatized", "attributed_to"})
# Where one says when it ends, and that it is none any more.
ENDS = ("expiration_date", "expires_at")
GONE = frozenset({"deleted", "archived", "DELETE"})


def read_mem0(path: File, target: ImportTarget) -> Iterator[ForeignRecord]:
    """Yield a fact for each memory, and whose it is."""
    scope, counts = target.scope, target.counts
    for place, value in read_values(path / CHROMA_FILE if path.is_dir() else path, counts):
        with counts.reading(place):
            memory = _exported(object_of(value))
            if memory is None:
                counts.leave_out("names that mem0 found in memories")
                continue
            if GONE.intersection((words_of(memory, "state"), words_of(memory, "event"))):
                counts.leave_out("memories that were deleted")
                continue
            draft = _mem0_draft(memory, target.zone)
            user, agent = words_of(memory, "user_id").strip(), words_of(memory, "agent_id").strip()
            whose = Scope(user or scope.user, agent or scope.agent)
            key = memory.get("id") and f"{memory['id']}\n{draft['content']}"
            yield ForeignRecord(place, whose, draft, key=key)


def _exported(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a memory as mem0 exports it, also of its store; ``None`` where that has only a name.

    A store keeps all of a memory in one payload.
    """
    payload = value.get("payload")
    if payload is None:
        return value
    own = {name: it for name, it in object_of(payload).items() if name not in DERIVED}
    beside = {name: own.pop(name, None) for name in (*BESIDE, *KEPT[1:])}
    text = own.pop("data", None)
    return (
        {**beside, "id": value["id"], "memory": text, "metadata": own}
        if "hash" in payload
        else None
    )


def _mem0_draft(memory: Mapping[str, Any], zone: tzinfo) -> Draft:
    content, own = text_of(memory, "memory"), memory.get("metadata")
    ends = [value_of(place, name) for place in (memory, own) for name in ENDS]
    kept = {f"mem0_{name}": memory.get(name) for name in KEPT if memory.get(name) is not None}
    return Draft(
        content=content,
        tags=tags_of(memory, "categories"),
        metadata={**(own if isinstance(own, Mapping) else {}), **kept},
        event_time=moment_of(memory.get("created_at"), "created_at"),
        valid_until=parse_end(next(filter(None, ends), None), zone),
        role=words_of(memory, "role").strip() or None,
        trust=Trust.AGENT,
    )


def parse_end(value: object, zone: tzinfo) -> datetime | None:
    """Return when a memory ends: a moment, or the end of a day in a time zone.

    Raises:
        InvalidInput: it is neither.
    """
    with suppress(ValueError, TypeError):
        day = datetime.strptime(value, "%Y-%m-%d")  # type: ignore[arg-type]  # noqa: DTZ007
        return (day + timedelta(days=1)).replace(tzinfo=zone)
    return moment_of(value, "expiration_date")


def read_mcp_memory(path: File, target: ImportTarget) -> Iterator[ForeignRecord]:
    """Yield a fact for each observation and each relation; entities come before relations."""
    scope, counts, types = target.scope, target.counts, dict[str, str | None]()

    def mention(name: str, start: int = 0) -> Mention:
        return Mention(name, types.get(name) or "other", start, start + len(name))

    for place, value in read_values(path, counts, ["entities", "relations"]):
        with counts.reading(place):
            match object_of(value):
                case {"observations": _}:
                    name, kind = text_of(value, "name"), words_of(value, "entityType")
                    types[name] = entity_type(kind)
                    for draft in _observations(value, name, kind, counts):
                        yield ForeignRecord(place, scope, draft, (mention(name),), once=True)
                case {"relationType": _}:
                    one, other, kind = (text_of(value, n) for n in ("from", "to", "relationType"))
                    text = f"{one} {' '.join(kind.replace('_', ' ').split())} {other}"
                    metadata = {"from": one, "relation": kind, "to": other}
                    draft = Draft(content=text, metadata=metadata, trust=Trust.AGENT)
                    mentions = mention(one), mention(other, len(text) - len(other))
                    yield ForeignRecord(place, scope, draft, mentions, once=True)
                case _:
                    counts.leave_out("lines that are neither entity nor relation")


def _observations(
    entity: Mapping[str, Any], name: str, kind: str, counts: ImportCounts
) -> Iterator[Draft]:
    """Yield what is observed of an entity, without what cannot be read."""
    metadata = {"entity": name} | ({"entity_type": kind} if kind else {})
    for text in list_of(entity, "observations"):
        with counts.reading(f"entity {name}"):
            if not isinstance(text, str):
                raise InvalidInput(f"an observation must be text, got {text!r:.80}")
            if text.strip():
                content = f"{name}: {text}"
                yield Draft(content=content, metadata=metadata, trust=Trust.AGENT)


CHROMA_FILE = "chroma.sqlite3"
TYPE, CREATED, ID = "type", "created_at", "chroma_id"
# How long a conversation is kept where the settings keep it for ever (requirement S1.05).
CONVERSATION_EXPIRY = timedelta(days=30)


def read_chroma(path: Path, target: ImportTarget) -> Iterator[ForeignRecord]:
    """Yield a record for each memory in a folder, the oldest first."""
    return read_memories(foreign_memories(path), str(path), target)


def read_memories(
    rows: Sequence[ForeignMemory], folder: str, target: ImportTarget
) -> Iterator[ForeignRecord]:
    """Yield a record for each memory of a folder, as :func:`read_chroma` does."""
    for key, text, entry in sorted(rows, key=lambda row: str(row[2].get(CREATED, ""))):
        place = f"{folder}, memory {key}"
        if not text.strip():
            target.counts.leave_out("memories without a text")
            continue
        rest = {name: value for name, value in entry.items() if name not in {TYPE, CREATED}}
        try:
            kind = parse_kind(entry.get(TYPE, "fact"))
        except InvalidInput:  # What it is called there may still be of use.
            kind, rest = Kind.FACT, {TYPE: entry[TYPE], **rest}
        with target.counts.reading(place):
            at = moment_of(entry.get(CREATED), CREATED)
            metadata = {**rest, ID: key}
            draft = Draft(content=text, kind=kind, metadata=metadata, event_time=at, created_at=at)
            if kind is Kind.EPISODE and at and not target.records.plan(draft).record.valid_until:
                draft["valid_until"] = at + CONVERSATION_EXPIRY
            yield ForeignRecord(place, target.scope, draft, key=f"{key}\n{text}")


_EN = LanguageData("en", "notes", flags=0)
DAY = r"\d{4}-\d{2}-\d{2}"
# Hidden files, and those in hidden folders, are none of them.
NAMED = compile_pattern(
    rf"(?i)(?:MEMORY|CLAUDE(?:\.local)?|HISTORY.*|{DAY}.*|memory(?:/[^./][^/]*)+)\.md"
)
# How an entry of a history starts: ``[2026-02-27 14:30] …``, or ``## 2026-02-27T14:30:00Z``.
TIME = r"(?:[ T]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?"
STAMP = compile_pattern(rf"(?m)^(?:#{{1,4}}[ \t]+)?\[?({DAY}{TIME})\]?(?:[ \t]|$)")
# Lines before the first entry that are in no paragraph: headings, and blank ones.
BETWEEN = compile_pattern(r"(?m)^(?:#.*|[ \t]+)$")
# What is no statement: a link to a file for each topic, an import of a file, and what a
# template holds where nothing was learned yet.
NO_TEXT = compile_pattern(r"\W*\[[^\]]*\]\([^)]*\.md\).*|@\S+|[*_]*\([^()]*\)[*_]*")
# Words of an item that names what the items below it are about.
HEAD_WORDS = 3


def statements(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the bullets and paragraphs of a file, each with the heading above it.

    A bullet under a name begins with the name.
    """
    lines = ("" if _is_frame(line.strip()) else line for line in text.splitlines())
    parents: list[tuple[int, str]] = []
    above: str | None = None
    for item in parse("\n".join(lines)).items:
        goes_on = item.listed and item.section == above
        indent = len(item.prefix) - len(item.prefix.lstrip())
        parents = [each for each in parents if goes_on and each[0] < indent]
        above = item.section
        said = item.text.removeprefix("[x] ").removeprefix("[ ] ")
        if _is_frame(said):
            continue
        yield "".join(name for _, name in parents) + said, item.section
        if item.listed and (said.endswith(":") or len(said.split()) <= HEAD_WORDS):
            parents.append((indent, f"{said.strip(' :*_')}: "))


def _is_frame(text: str) -> bool:
    """Return whether a text is none of a person's own: a template says it of its own file, say."""
    return bool(NO_TEXT.fullmatch(text) or _EN.of_itself.fullmatch(text))


def entries(text: str, zone: tzinfo) -> Iterator[tuple[datetime | None, str]]:
    """Yield the entries of a history, each with its moment; before the first, each paragraph."""
    stamps = [(each.span(), at) for each in STAMP.finditer(text) if (at := _moment(each[1], zone))]
    ends = [*(start for (start, _), _ in stamps), len(text)]
    for paragraph in BETWEEN.sub("", text[: ends[0]]).split("\n\n"):
        if said := paragraph.strip():
            yield None, said
    for ((_, start), at), end in zip(stamps, ends[1:], strict=True):
        if said := text[start:end].strip():
            yield at, said


def _moment(text: str, zone: tzinfo) -> datetime | None:
    with suppress(InvalidInput):
        return parse_moment(text, "at", zone)
    return None


def read_markdown(path: File, target: ImportTarget) -> Iterator[ForeignRecord]:
    """Yield what a Markdown memory holds: facts that never fade, and episodes.

    A fact is the same whenever it was learned; something that happened twice is two.

    Raises:
        InvalidInput: it is no text, or there is no memory in it.
    """
    with reading_file(path):
        text = path.read_text("utf-8-sig")
    found = list(_drafts(text, path, target.zone))
    if not found:
        raise InvalidInput(f"{path} is not a text that holds a memory")
    for draft in found:
        yield ForeignRecord(str(path), target.scope, draft, once=True)


def _drafts(text: str, path: File, zone: tzinfo) -> Iterator[Draft]:
    """Yield the entries of a history, or the statements of any other file, as drafts.

    Args:
        text: what is in the file.
        path: the file, whose name says what it is.
        zone: the zone of times that name none.
    """
    *_, folder, name = "", *str(path).split("/")
    place = f"memory/{name}" if folder == "memory" else name
    if path.name.upper().startswith("HISTORY"):
        for at, said in entries(text, zone):
            # What an agent wrote down is no word of the person.
            kind, file = Kind.EPISODE, {"file": place}
            yield Draft(content=said, kind=kind, role="assistant", metadata=file, event_time=at)
        return
    at = _moment(path.name[: len("2026-02-27")], zone)
    # What people write for agents is theirs; in any other file an agent keeps its own notes.
    trust = Trust.PERSON if path.name.upper().startswith("CLAUDE") else Trust.AGENT
    for said, section in statements(text):
        file = {"file": place} | ({"section": section} if section else {})
        yield Draft(content=said, metadata=file, event_time=at, decay_rate=0.0, trust=trust)
