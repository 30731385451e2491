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
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.models import ToolCall, ToolResult
from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import CLOSING, FENCE, OPENING
from memoranda.transfer.conversations import ForeignConversation, ForeignMessage, distinct, joined
from memoranda.transfer.json_files import (
    NAMES,
    FileFormat,
    JsonFile,
    JsonItem,
    LeftOut,
    moment_of,
    recognise,
)

_NAMES = NAMES["claude_code"]
WRAPPING = compile_pattern(rf"<({'|'.join(_NAMES['wrappers'])})(?:\s[^<>]*)?>")
INTERRUPTED = compile_pattern(r"\[Request interrupted by user(?: for tool use)?\]")
REMINDING = compile_pattern(r"<(system-reminder)>")
OWN_TOOLS = frozenset(_NAMES["own_tools"])
# A command of a shell that calls the program ``memoranda``.
OWN_COMMAND = compile_pattern(r"(?:^|[;&|(]\s*|\s)(?:\S*/)?memoranda\s+\w")
TALK = ("user", "assistant")
MARKED: Mapping[str, str] = _NAMES["marked"]
# The model of messages that the program itself wrote in the assistant's place.
SYNTHETIC = "<synthetic>"
NO_TALK: Mapping[str, str] = _NAMES["no_talk"]
# Deeper there are only the transcripts of the agent's own agents.
PATTERNS = ("*.jsonl", "*/*.jsonl")
# Lines by which a transcript is told from other files.
FIRST_LINES = 200


def read_conversations(path: Path, left_out: LeftOut) -> Iterator[ForeignConversation]:
    """Return the sessions in a transcript or in the transcripts of a folder, file by file.

    Args:
        path: a file, or a folder: of a project, or of all projects.
        left_out: counts what is no talk.

    Raises:
        InvalidInput: there is nothing at ``path``, or no transcript in the folder.
    """
    files = [path]
    if path.is_dir():
        begun = []
        for file in _transcripts(path):
            start = _start(file)
            if start is None:
                left_out.tell(f"{file.relative_to(path)}: no transcript of Claude Code")
            else:
                begun.append((start, file.stat().st_mtime_ns, file))
        files = [file for _, _, file in sorted(begun)]  # Those that began first before others.
    if not files:
        raise InvalidInput(f"{path} holds no transcript of Claude Code; looked for {PATTERNS}")
    folders = {file.parent / "memory" for file in files}
    aside = sum(folder.is_dir() for folder in folders)
    left_out.add("folders of Markdown memory, to be imported by themselves", aside)
    for file in files:
        yield from _TranscriptReader(left_out).read(JsonFile(file, by_lines=True))


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
        raise InvalidInput(f"{path} cannot be read ({error}); check its permissions") from error


def _start(path: Path) -> str | None:
    """Return the first time in a transcript, or no text; ``None`` where it is none."""
    known = False
    with suppress(InvalidInput):
        items = JsonFile(path, by_lines=True).items(broken=lambda _place, _line: None)
        for item in islice(items, FIRST_LINES):
            known = known or recognise(item.value) == FileFormat.CLAUDE_CODE
            match item.value:
                case {"timestamp": str(began)} if known:
                    return began
    return "" if known else None


class _TranscriptReader:
    """Reads one transcript."""

    def __init__(self, left_out: LeftOut) -> None:
        self._left_out = left_out
        self._memory_calls: set[str] = set()
        self._torn = False

    def read(self, file: JsonFile) -> Iterator[ForeignConversation]:
        """Return the sessions in it, each with what was said in its order."""
        known, sessions = False, defaultdict[str, list[ForeignMessage]](list)
        for item in file.items(broken=self._broken):
            known = known or recognise(item.value) == FileFormat.CLAUDE_CODE
            try:
                said = list(self._said(item))
            except InvalidInput as error:
                self._pass_over(f"{item.place}: {error}")
                continue
            if said:
                session = item.value.get("sessionId")
                name = session if isinstance(session, str) and session else file.path.stem
                sessions[name] += said
        if not known:
            message = f"{file.path} is no transcript of Claude Code: no line has a sessionId"
            raise InvalidInput(message)
        for name, said in sessions.items():
            yield ForeignConversation(id=name, messages=distinct(said))

    def _broken(self, place: str, line: bytes) -> None:
        if not line.endswith(b"\n"):  # It has no end, as somebody writes it.
            self._left_out.add("lines that are still being written")
        else:
            self._pass_over(f"{place}: not valid JSON")

    def _pass_over(self, why: str) -> None:
        """Pass over a line: what a crash left in one must not keep out all that was said since."""
        if not self._torn:
            self._left_out.tell(f"{why}; passed over")
        self._torn = True
        self._left_out.add("lines that cannot be read")

    def _said(self, item: JsonItem) -> Iterator[ForeignMessage]:
        """Yield what a line says: results first, as they answer what came before, then words."""
        line = self._talk(item.value)
        if line is None:
            return
        role, key, message = line["type"], line["uuid"], line["message"]
        at = moment_of(line.get("timestamp"), "timestamp")
        told = partial(ForeignMessage, place=item.place, at=at)
        texts: list[str] = []
        calls: list[ToolCall] = []
        results = 0
        for block in _blocks(message.get("content")):
            match block:
                case {"type": "text", "text": str(text)}:
                    texts.append(text if role == "assistant" else self._person(text))
                case {"type": "tool_use", "id": str(id), "name": str(name)} if role == "assistant":
                    calls.append(ToolCall(id, name, json.dumps(block.get("input") or {})))
                    if asks_memory(name, block.get("input")):
                        self._memory_calls.add(id)
                case {"type": "tool_result", "tool_use_id": str(id)}:
                    outcome = self._outcome(block.get("content"))
                    outcome = fenced(outcome) if id in self._memory_calls else outcome
                    result = ToolResult(id, bool(block.get("is_error")))
                    number = f"{key}:{results}" if results else key
                    yield told(key=number, role="tool", text=outcome, result=result)
                    results += 1
                case _:
                    self._count(block)
        if joined(texts) or calls:
            answer = message.get("id")
            yield told(
                key=f"{key}:said" if results else key,
                role=role,
                text=joined(texts),
                calls=tuple(calls),
                answer=answer if role == "assistant" and isinstance(answer, str) else None,
            )

    def _talk(self, line: Any) -> Mapping[str, Any] | None:
        """Return a line if it holds talk."""
        if not isinstance(line, Mapping):
            text = f"expected a line of a transcript, an object, got {line!r:.80}; remove it"
            raise InvalidInput(text)
        if line.get("type") not in TALK:
            self._left_out.add("lines without talk")
            return None
        message = line.get("message")
        if not isinstance(message, Mapping) or not isinstance(line.get("uuid"), str):
            text = "expected a line of a transcript with uuid and message; remove the line"
            raise InvalidInput(text)
        marks = [kind for name, kind in MARKED.items() if line.get(name)]
        if message.get("model") == SYNTHETIC:
            marks.append(MARKED["isApiErrorMessage"])
        for mark in marks[:1]:
            self._left_out.add(mark)
        return None if marks else line

    def _person(self, text: str) -> str:
        """Return what a person said in ``text``: no reminders, commands or output of commands."""
        said = INTERRUPTED.sub("", without(text, WRAPPING)).strip()
        if not said and text.strip():
            self._left_out.add("commands and notices")
        return said

    def _outcome(self, content: Any) -> str:
        """Return what a tool gave back, without the reminders that were put behind it."""
        texts = []
        for block in _blocks(content):
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                texts.append(without(block["text"], REMINDING))
            else:
                self._count(block)
        return "\n".join(filter(None, texts))

    def _count(self, block: Any) -> None:
        kind = block.get("type") if isinstance(block, Mapping) else None
        known = NO_TALK.get(kind) if isinstance(kind, str) else None
        self._left_out.add(known or "parts of other kinds")


def _blocks(content: Any) -> Sequence[Any]:
    match content:
        case None:
            return ()
        case str():
            return ({"type": "text", "text": content},)
        case list():
            return content
    raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")


def without(text: str, opening: LinearPattern) -> str:
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
    command = arguments.get("command") if isinstance(arguments, dict) else None
    asked = isinstance(command, str) and OWN_COMMAND.search(command) is not None
    return asked or name.rpartition("__")[2] in OWN_TOOLS


def fenced(text: str) -> str:
    """Return what memory told in its fence, by which it is known as told and never as new."""
    if not text.strip():
        return text
    inner = OPENING.sub("", CLOSING.sub("", text)).strip()
    return f"<{FENCE}>\n{inner}\n</{FENCE}>"
