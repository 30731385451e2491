"""Session transcripts of Claude Code: ``~/.claude/projects/<project>/<session>.jsonl``.

The format is not published; what is read here are the lines ``user`` and ``assistant`` with a
message in Anthropic's form, and what a person typed while Claude worked. A conversation is named
after the session of its lines. No talk are: thinking, lines marked as meta, side chains (talk of
the agent with its own agents), summaries that stand for talk that is there already, errors of the
service, and what the program wraps in tags: slash commands, output of local commands, reminders.
Branches that were given up were said all the same, and stay.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.models import ToolCall, ToolResult
from memoranda.text.json_values import object_of
from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import CLOSING, FENCE, OPENING
from memoranda.transfer.batches import ImportTarget
from memoranda.transfer.conversations import ForeignConversation, ForeignMessage, distinct, joined
from memoranda.transfer.json_files import NAMES, FileFormat, JsonFile, LeftOut, moment_of, recognise

_NAMES = NAMES["claude_code"]
WRAPPING = compile_pattern(rf"<({'|'.join(_NAMES['wrappers'])})(?:\s[^<>]*)?>")
INTERRUPTED = compile_pattern(r"\[Request interrupted by user(?: for tool use)?\]")
REMINDING = compile_pattern(r"<(system-reminder)>")
OWN_TOOLS = frozenset(_NAMES["own_tools"])
# A command of a shell that calls the program ``memoranda``.
OWN_COMMAND = compile_pattern(r"(?:^|[;&|(]\s*|\s)(?:\S*/)?memoranda\s+\w")
MARKED: Mapping[str, str] = _NAMES["marked"]
# The model of messages that the program itself wrote in the assistant's place.
SYNTHETIC = "<synthetic>"
NO_TALK: Mapping[str, str] = _NAMES["no_talk"]
# Deeper there are only the transcripts of the agent's own agents.
PATTERNS = ("*.jsonl", "*/*.jsonl")
# Lines by which a transcript is told from other files.
FIRST_LINES = 200


def read_conversations(
    path: Path, _: ImportTarget, left_out: LeftOut
) -> Iterator[ForeignConversation]:
    """Yield the sessions in a transcript or in the transcripts of a folder, the oldest file first.

    Args:
        path: a file, or a folder: of a project, or of all projects.
        left_out: counts what is no talk.

    Raises:
        InvalidInput: there is nothing at ``path``, or no transcript in the folder.
    """
    files = _transcripts(path) if path.is_dir() else [path]
    if not files:
        raise InvalidInput(f"{path} holds no transcript of Claude Code; looked for {PATTERNS}")
    for file in sorted(files, key=lambda each: each.stat().st_mtime_ns if each.exists() else 0):
        yield from _read_file(JsonFile(file, by_lines=True), left_out)


def holds_transcripts(path: Path) -> bool:
    """Return whether a folder is one of transcripts: of a project, or of all projects."""
    memories = ((path / name).is_file() for name in ("MEMORY.md", "CLAUDE.md"))
    return not any(memories) and bool(_transcripts(path))


def _transcripts(path: Path) -> list[Path]:
    found = sorted(file for pattern in PATTERNS for file in path.glob(pattern))
    return [file for file in found if file.is_file() and not file.is_symlink() and _is_one(file)]


def _is_one(path: Path) -> bool:
    with suppress(InvalidInput):
        lines = islice(JsonFile(path, by_lines=True).items(LeftOut()), FIRST_LINES)
        return any(recognise(line) == FileFormat.CLAUDE_CODE for _, line in lines)
    return False


def _read_file(file: JsonFile, left_out: LeftOut) -> Iterator[ForeignConversation]:
    reader, known = _LineReader(left_out), False
    sessions = defaultdict[str, list[ForeignMessage]](list)
    for place, line in file.items(left_out):
        known = known or recognise(line) == FileFormat.CLAUDE_CODE
        with left_out.reading(place):
            said = list(reader.read(place, _typed_meanwhile(object_of(line))))
            sessions[str(line.get("sessionId") or file.path.stem)] += said
    if not known:
        message = f"{file.path} is no transcript of Claude Code: no line has a sessionId"
        raise InvalidInput(message)
    for name, talk in sessions.items():
        if talk:
            yield ForeignConversation(id=name, messages=distinct(talk))


def _typed_meanwhile(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a line; as one of the user what a person typed while Claude worked."""
    match line:
        case {"type": "queue-operation", "reason": "absorbed_mid_turn", "content": said}:
            pass
        case {"type": "attachment", "attachment": {"type": "queued_command", "prompt": said}}:
            pass
        case _:
            return line
    key = f"{line.get('sessionId')} {joined(_texts(said))}"
    return {**line, "type": "user", "uuid": key, "message": {"content": said}}


class _LineReader:
    """Reads the lines of one transcript."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._memory_calls: set[str] = set()

    def read(self, place: str, line: Mapping[str, Any]) -> Iterator[ForeignMessage]:
        """Yield what a line says: results first, as they answer what came before, then words."""
        role, key, message = line.get("type"), line.get("uuid"), line.get("message")
        if role not in {"user", "assistant"}:
            self._left_out.add("lines without talk")
            return
        if not isinstance(message, Mapping) or not isinstance(key, str):
            raise InvalidInput("expected a line of a transcript with uuid and message")
        marks = [kind for name, kind in MARKED.items() if line.get(name)]
        if marks or message.get("model") == SYNTHETIC:
            marks.append(MARKED["isApiErrorMessage"])
            self._left_out.add(marks[0])
            return
        at = moment_of(line.get("timestamp"), "timestamp")
        told = partial(ForeignMessage, place=place, at=at)
        texts, calls, results = list[str](), list[ToolCall](), 0
        for block in _blocks(message.get("content")):
            match block:
                case {"type": "text", "text": str(text)}:
                    texts.append(text if role == "assistant" else self._person(text))
                case {"type": "tool_use", "id": str(id), "name": str(name)} if role == "assistant":
                    calls.append(ToolCall(id, name, json.dumps(block.get("input") or {})))
                    if asks_memory(name, block.get("input")):
                        self._memory_calls.add(id)
                case {"type": "tool_result", "tool_use_id": str(id)}:
                    result = ToolResult(id, bool(block.get("is_error")))
                    number = f"{key}:{results}" if results else key
                    text = self._outcome(id, block.get("content"))
                    yield told(key=number, role="tool", text=text, result=result)
                    results += 1
                case _:
                    self._count(block)
        if (text := joined(texts)) or calls:
            answer = message.get("id") if role == "assistant" else None
            key = f"{key}:said" if results else key
            yield told(key=key, role=str(role), text=text, calls=tuple(calls), answer=answer)

    def _person(self, text: str) -> str:
        """Return what a person said in a text: no reminders, commands or output of commands."""
        said = INTERRUPTED.sub("", without(text, WRAPPING)).strip()
        if not said and text.strip():
            self._left_out.add("commands and notices")
        return said

    def _outcome(self, call: str, content: Any) -> str:
        """Return what a tool gave back, without the reminders that were put behind it."""
        text = joined(without(text, REMINDING) for text in _texts(content))
        if call not in self._memory_calls or not text.strip():
            return text
        # In the fence of what memory told, by which it is known as told and never as new.
        inner = OPENING.sub("", CLOSING.sub("", text)).strip()
        return f"<{FENCE}>\n{inner}\n</{FENCE}>"

    def _count(self, block: Any) -> None:
        kind = block.get("type") if isinstance(block, Mapping) else None
        self._left_out.add(NO_TALK.get(str(kind), "parts of other kinds"))


def _blocks(content: Any) -> Sequence[Any]:
    match content:
        case None:
            return ()
        case str():
            return ({"type": "text", "text": content},)
        case list():
            return content
    raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")


def _texts(content: Any) -> list[str]:
    found = (each.get("text") for each in _blocks(content) if isinstance(each, Mapping))
    return [text for text in found if isinstance(text, str)]


def without(text: str, opening: LinearPattern) -> str:
    """Return ``text`` without what stands between tags. A tag that is never closed is text.

    Each part of the text is looked at once for each tag, however many of them it holds.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    start = place = 0
    while found := opening.search(text, place):
        tag, place = found[1], found.end()
        end = -1 if tag in unclosed else text.find(f"</{tag}>", place)
        if end < 0:
            unclosed.add(tag)
            continue
        kept.append(text[start : found.start()])
        start = place = end + len(f"</{tag}>")
    return "".join([*kept, text[start:]])


def asks_memory(name: str, arguments: Any) -> bool:
    """Return whether a call asks memory: one of its tools, or its command in a shell.

    Args:
        name: of the tool; over MCP ``mcp__<server>__<tool>``.
        arguments: of the call.
    """
    command = arguments.get("command") if isinstance(arguments, dict) else None
    asked = isinstance(command, str) and OWN_COMMAND.search(command) is not None
    return asked or name.rpartition("__")[2] in OWN_TOOLS
