"""Session transcripts of Claude Code: ``~/.claude/projects/<project>/<session>.jsonl``.

The format is not published; what is read here are the lines ``user`` and ``assistant`` with a
message in Anthropic's form. A conversation is named after the session of its lines. No talk are:
thinking, lines marked as meta, side chains (talk of the agent with its own agents), summaries
that stand for talk that is there already, errors of the service, and what the program wraps in
tags: slash commands, output of local commands, reminders. Branches that were given up were said
all the same, and stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from memoranda.errors import InvalidInput
from memoranda.model.models import ToolCall, ToolResult
from memoranda.text.recalled import CLOSING, FENCE, OPENING
from memoranda.transfer.conversations import ForeignConversation, ForeignMessage, distinct
from memoranda.transfer.json_files import JsonFile, JsonItem, LeftOut, moment_of

WRAPPERS = (
    "system-reminder|user-prompt-submit-hook|session-start-hook|"
    "command-name|command-message|command-args|command-contents|"
    "local-command-stdout|local-command-stderr|local-command-caveat|"
    "bash-input|bash-stdout|bash-stderr|"
    "ide_opened_file|ide_selection|ide_diagnostics|post-tool-use-hook|"
    "task-notification|task-id|background-task-output"
)
WRAPPING = re.compile(rf"<({WRAPPERS})(?:\s[^<>]*)?>")
INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for tool use)?\]")
REMINDING = re.compile(r"<(system-reminder)>")
OWN_TOOLS = frozenset(
    [
        "search_memories",
        "store_memory",
        "forget_memory",
        "recall_context",
        "search_memory",
        "remember_fact",
        "correct_fact",
        "confirm_fact",
        "memory_stats",
        "get_entity_info",
        "expand_messages",
    ]
)
"""The tools of memory, over MCP and of agents."""
OWN_COMMAND = re.compile(r"(?:^|[;&|(]\s*|\s)(?:\S*/)?memoranda\s+\w")
"""A command of a shell that calls the program ``memoranda``."""


def without_wrappers(text: str) -> str:
    """Return what a person said in ``text``: no reminders, commands or output of commands."""
    return INTERRUPTED.sub("", _without(text, WRAPPING)).strip()


def without_reminders(text: str) -> str:
    """Return what a tool gave back, without the reminders that were put behind it."""
    return _without(text, REMINDING)


def _without(text: str, opening: re.Pattern[str]) -> str:
    """Return ``text`` without what stands between tags. A tag that is never closed is text.

    Each part of the text is looked at once for each tag, however many of them it holds.
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    start = place = 0
    while found := opening.search(text, place):
        tag, place = found[1], found.end()
        if tag in unclosed:
            continue
        closing = f"</{tag}>"
        end = text.find(closing, place)
        if end < 0:
            unclosed.add(tag)
            continue
        kept.append(text[start : found.start()])
        start = place = end + len(closing)
    return "".join([*kept, text[start:]])


def asks_memory(name: str, arguments: Any) -> bool:
    """Return whether a call asks memory: one of its tools, or its command in a shell.

    Args:
        name: of the tool; over MCP ``mcp__<server>__<tool>``.
        arguments: of the call.
    """
    if name.rpartition("__")[2] in OWN_TOOLS:
        return True
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return isinstance(command, str) and OWN_COMMAND.search(command) is not None


def fenced(text: str) -> str:
    """Return what memory told in its fence, by which it is known as told and never as new."""
    if not text.strip():
        return text
    inner = OPENING.sub("", CLOSING.sub("", text)).strip()
    return f"<{FENCE}>\n{inner}\n</{FENCE}>"


class MemoryCalls:
    """The calls of a talk that asked memory."""

    def __init__(self) -> None:
        """Start with none."""
        self._ids: set[str] = set()

    def note(self, call: ToolCall, arguments: Any) -> None:
        """Remember ``call`` if it asks memory."""
        if asks_memory(call.name, arguments):
            self._ids.add(call.id)

    def told(self, call: str, text: str) -> str:
        """Return the answer to ``call``, in its fence if memory gave it."""
        return fenced(text) if call in self._ids else text


TALK = frozenset({"user", "assistant"})
MARKED = {
    "isSidechain": "lines of side chains",
    "isMeta": "meta lines",
    "isCompactSummary": "summaries of talk that is there",
    "isVisibleInTranscriptOnly": "summaries of talk that is there",
    "isApiErrorMessage": "errors of the service",
}
SYNTHETIC = "<synthetic>"
"""The model of messages that the program itself wrote in the assistant's place."""
THINKING = frozenset({"thinking", "redacted_thinking"})
PATTERNS = ("*.jsonl", "*/*.jsonl")
"""Deeper there are only the transcripts of the agent's own agents."""
FIRST_LINES = 200
"""Lines by which a transcript is told from other files."""


class Transcripts:
    """The sessions in a transcript, or in the transcripts of a folder.

    Args:
        path: a file, or a folder: of a project, or of all projects.

    Raises:
        InvalidInput: there is nothing at ``path``, or no transcript in the folder.
    """

    def __init__(self, path: Path) -> None:
        """Look for the transcripts."""
        self._path = path
        self._strange: list[Path] = []
        self._files: Sequence[Path] = (path,)
        if path.is_dir():
            self._files = self._in_order()
            if not self._files:
                message = f"{path} holds no transcript of Claude Code; looked for {PATTERNS}"
                raise InvalidInput(message)

    def _in_order(self) -> Sequence[Path]:
        """Return the transcripts, those that began first before others."""
        begun = []
        for path in _transcripts(self._path):
            start = _start(path)
            if start is None:
                self._strange.append(path)
            else:
                begun.append((start, path.stat().st_mtime_ns, path))
        return [path for _, _, path in sorted(begun)]

    def conversations(self, left_out: LeftOut) -> Iterator[ForeignConversation]:
        """Return the sessions, file by file; count what is left out."""
        for path in self._strange:
            left_out.tell(f"{path.relative_to(self._path)}: no transcript of Claude Code")
        folders = {path.parent / "memory" for path in self._files}
        left_out.add(
            "folders of Markdown memory, to be imported by themselves",
            sum(folder.is_dir() for folder in folders),
        )
        for path in self._files:
            yield from _TranscriptReader(JsonFile(path, by_lines=True), left_out).conversations()


def is_line(value: object) -> bool:
    """Return whether a value of a file is a line of a transcript of Claude Code."""
    match value:
        case {"type": str(), "sessionId": str()}:
            return True
        case {"type": "summary", "leafUuid": str()}:
            return True
        case {"type": "file-history-snapshot", "messageId": str()}:
            return True
    return False


def holds_transcripts(path: Path) -> bool:
    """Return whether a folder is one of transcripts: of a project, or of all projects."""
    if any((path / name).is_file() for name in ("MEMORY.md", "CLAUDE.md")):
        return False
    return any(_start(file) is not None for file in _transcripts(path))


def _transcripts(path: Path) -> list[Path]:
    try:
        found = sorted(file for pattern in PATTERNS for file in path.glob(pattern))
        return [file for file in found if file.is_file() and not file.is_symlink()]
    except OSError as error:
        message = f"{path} cannot be read ({error}); check its permissions"
        raise InvalidInput(message) from error


def _start(path: Path) -> str | None:
    """Return the first time in a transcript, or no text; ``None`` where it is none."""
    known = False
    with suppress(OSError), path.open("rb") as file:
        for raw in islice(file, FIRST_LINES):
            try:
                value = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            known = known or is_line(value)
            if known and isinstance(value, dict) and isinstance(value.get("timestamp"), str):
                return str(value["timestamp"])
    return "" if known else None


class _TranscriptLine(NamedTuple):
    """A line that holds talk."""

    place: str
    value: Mapping[str, Any]
    message: Mapping[str, Any]
    at: datetime | None


class _TranscriptReader:
    """Reads one transcript."""

    def __init__(self, file: JsonFile, left_out: LeftOut) -> None:
        self._file = file
        self._left_out = left_out
        self._calls = MemoryCalls()
        self._sessions: dict[str, list[ForeignMessage]] = {}
        self._torn = False

    def conversations(self) -> list[ForeignConversation]:
        """Return the sessions in it, each with what was said in its order."""
        known = False
        for item in self._file.items(broken=self._broken):
            known = known or is_line(item.value)
            try:
                line = self._line(item)
                said = [] if line is None else list(self._said(line))
            except InvalidInput as error:
                self._strange(f"{item.place}: {error}")
                continue
            if line is not None:
                session = line.value.get("sessionId")
                name = session if isinstance(session, str) and session else None
                self._sessions.setdefault(name or self._file.path.stem, []).extend(said)
        if not known:
            message = f"{self._file.path} is no transcript of Claude Code: no line has a sessionId"
            raise InvalidInput(message)
        return [
            ForeignConversation(id=name, messages=distinct(said))
            for name, said in self._sessions.items()
            if said
        ]

    def _broken(self, place: str, *, unfinished: bool) -> None:
        if unfinished:
            self._left_out.add("lines that are still being written")
        else:
            self._strange(f"{place}: not valid JSON")

    def _strange(self, told: str) -> None:
        """Pass over a line: what a crash left in one must not keep out all that was said since."""
        if not self._torn:
            self._left_out.tell(f"{told}; passed over")
        self._torn = True
        self._left_out.add("lines that cannot be read")

    def _line(self, item: JsonItem) -> _TranscriptLine | None:
        """Return a line if it holds talk."""
        value = item.value
        if not isinstance(value, Mapping):
            text = f"expected a line of a transcript, an object, got {value!r:.80}; remove it"
            raise InvalidInput(text)
        if value.get("type") not in TALK:
            self._left_out.add("lines without talk")
            return None
        message = value.get("message")
        if not isinstance(message, Mapping) or not isinstance(value.get("uuid"), str):
            text = "expected a line of a transcript with uuid and message; remove the line"
            raise InvalidInput(text)
        marked = next((kind for name, kind in MARKED.items() if value.get(name)), None)
        if marked is None and message.get("model") == SYNTHETIC:
            marked = MARKED["isApiErrorMessage"]
        if marked is not None:
            self._left_out.add(marked)
            return None
        return _TranscriptLine(
            item.place, value, message, moment_of(value.get("timestamp"), "timestamp")
        )

    def _said(self, line: _TranscriptLine) -> Iterator[ForeignMessage]:
        role = line.value["type"]
        texts: list[str] = []
        calls: list[ToolCall] = []
        results: list[tuple[ToolResult, str]] = []
        for block in _blocks(line.message.get("content")):
            match block:
                case {"type": "text", "text": str(text)}:
                    texts.append(text if role == "assistant" else self._person(text))
                case {"type": "tool_use", "id": str(id), "name": str(name)} if role == "assistant":
                    call = ToolCall(id, name, json.dumps(block.get("input") or {}))
                    self._calls.note(call, block.get("input"))
                    calls.append(call)
                case {"type": "tool_result", "tool_use_id": str(id)}:
                    found = self._calls.told(id, self._outcome(block.get("content")))
                    results.append((ToolResult(id, bool(block.get("is_error"))), found))
                case _:
                    self._count(block)
        text = "\n".join(text for text in texts if text.strip())
        yield from _parts(line, role, text, tuple(calls), results)

    def _person(self, text: str) -> str:
        said = without_wrappers(text)
        if not said and text.strip():
            self._left_out.add("commands and notices")
        return said

    def _outcome(self, content: Any) -> str:
        texts = []
        for block in _blocks(content):
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                texts.append(without_reminders(block["text"]))
            else:
                self._count(block)
        return "\n".join(text for text in texts if text)

    def _count(self, block: Any) -> None:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind in THINKING:
            self._left_out.add("thoughts of the model")
        elif kind == "image":
            self._left_out.add("pictures")
        else:
            self._left_out.add("parts of other kinds")


def _parts(
    line: _TranscriptLine,
    role: str,
    text: str,
    calls: tuple[ToolCall, ...],
    results: Sequence[tuple[ToolResult, str]],
) -> Iterator[ForeignMessage]:
    """Return results first, as they answer what came before, then what was said."""
    key = line.value["uuid"]
    for number, (result, outcome) in enumerate(results):
        yield ForeignMessage(
            place=line.place,
            key=f"{key}:{number}" if number else key,
            role="tool",
            text=outcome,
            at=line.at,
            result=result,
        )
    if text or calls:
        answer = line.message.get("id")
        yield ForeignMessage(
            place=line.place,
            key=f"{key}:said" if results else key,
            role=role,
            text=text,
            at=line.at,
            calls=calls,
            answer=answer if role == "assistant" and isinstance(answer, str) else None,
        )


def _blocks(content: Any) -> Sequence[Any]:
    match content:
        case None:
            return ()
        case str():
            return ({"type": "text", "text": content},)
        case list():
            return content
    message = f"content must be text or a list of blocks, got {content!r:.80}"
    raise InvalidInput(message)
