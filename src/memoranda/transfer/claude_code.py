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
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memoranda.conversation.formats.parse import NewMessage
from memoranda.errors import InvalidInput
from memoranda.model.models import ConversationInfo, ToolCall, ToolResult
from memoranda.text.json_values import object_of, value_of, words_of
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import CLOSING, FENCE, OPENING
from memoranda.transfer import sources

_NAMES = sources.NAMES["claude_code"]
# What no person said, between tags; and what is no result of a tool.
WRAPPED = compile_pattern(
    "|".join(rf"<{tag}(?:\s[^<>]*)?>.*?</{tag}>" for tag in _NAMES["wrappers"])
    + r"|\[Request interrupted by user(?: for tool use)?\]",
    re.DOTALL,
)
REMINDER = compile_pattern("<system-reminder>.*?</system-reminder>", re.DOTALL)
OWN_TOOLS = frozenset(_NAMES["own_tools"])
# A command of a shell that calls the program ``memoranda``.
OWN_COMMAND = compile_pattern(r"[\"\s;&|(](?:[^\s\"]*/)?memoranda\s+\w")
# Marks of lines that are no talk.
MARKED: Sequence[str] = _NAMES["marked"]
# The model of messages that the program itself wrote in the assistant's place.
SYNTHETIC = "<synthetic>"
# Deeper there are only the transcripts of the agent's own agents.
PATTERNS = ("*.jsonl", "*/*.jsonl")


def read_conversations(
    path: Path, target: sources.ImportTarget, counts: sources.ImportCounts
) -> Iterator[sources.ForeignConversation]:
    """Yield the sessions in a transcript or in the transcripts of a folder, the oldest file first.

    Raises:
        InvalidInput: there is no transcript at ``path``.
    """
    found = transcripts(path)
    if not found:
        message = f"{path} is no transcript of Claude Code: no line has a sessionId"
        raise InvalidInput(f"{message}; of a folder, {' and '.join(PATTERNS)} are read")
    for file in sorted(found, key=lambda each: each.stat().st_mtime_ns):
        sessions = defaultdict[str, list[sources.ForeignMessage]](list)
        memory_calls = set[str]()
        for place, value in sources.read_values(file, counts):
            with counts.reading(place):
                line = _typed_meanwhile(object_of(value))
                said = list(_messages(line, memory_calls, counts))
                sessions[str(line.get("sessionId") or file.stem)] += said
        for name, talk in sessions.items():
            if talk:
                begun = talk[0].said.timestamp or target.records.now()
                info = ConversationInfo(id=name, created_at=begun)
                yield sources.ForeignConversation(str(file), info, talk)


def transcripts(path: Path) -> list[Path]:
    """Return the transcripts at a path: a file, or in a folder those of a project or of all."""
    inside = sorted(file for pattern in PATTERNS for file in path.glob(pattern))
    found = [file for file in inside if not file.is_symlink()] if path.is_dir() else [path]
    return [file for file in found if _is_transcript(file)]


def _is_transcript(file: Path) -> bool:
    values = sources.read_values(file, sources.ImportCounts())
    return any(sources.recognise(value) is sources.FileFormat.CLAUDE_CODE for _, value in values)


def _typed_meanwhile(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a line; as one of the user what a person typed while Claude worked."""
    attached = line.get("attachment")
    if line.get("reason") == "absorbed_mid_turn":
        said = line.get("content")
    elif words_of(attached, "type") == "queued_command":
        said = value_of(attached, "prompt")
    else:
        return line
    key = f"{line.get('sessionId')} {_text(said)}"
    return {**line, "type": "user", "uuid": key, "message": {"content": said}}


def _messages(
    line: Mapping[str, Any], memory_calls: set[str], counts: sources.ImportCounts
) -> Iterator[sources.ForeignMessage]:
    """Yield what a line says: results first, as they answer what came before, then words.

    Args:
        line: the line.
        memory_calls: the calls so far that asked memory; those of the line are added.
        counts: counts what is no talk.
    """
    role, key, message = words_of(line, "type"), line.get("uuid"), line.get("message")
    if role not in {"user", "assistant"}:
        counts.leave_out("lines without talk")
        return
    if not isinstance(message, Mapping) or not isinstance(key, str):
        raise InvalidInput("expected a line of a transcript with uuid and message")
    marks = [name for name in MARKED if line.get(name)]
    if marks or message.get("model") == SYNTHETIC:
        counts.leave_out(f"lines marked {marks[0] if marks else SYNTHETIC}")
        return
    at = sources.moment_of(line.get("timestamp"), "timestamp")
    blocks = defaultdict[str, list[Any]](list)
    for block in _blocks(message.get("content")):
        blocks[words_of(block, "type")].append(block)
    for kind in blocks.keys() - {"text", "tool_use", "tool_result"}:
        counts.leave_out(f"parts of the type {kind}", len(blocks[kind]))
    for number, block in enumerate(blocks["tool_result"]):
        call = words_of(block, "tool_use_id")
        text = REMINDER.sub("", _text(block.get("content")))
        if call in memory_calls and text.strip():
            # In the fence of what memory told, by which it is known as told and never as new.
            inner = OPENING.sub("", CLOSING.sub("", text)).strip()
            text = f"<{FENCE}>\n{inner}\n</{FENCE}>"
        result = ToolResult(call, bool(block.get("is_error")))
        said = NewMessage(role="tool", content=text, tool_result=result, timestamp=at)
        yield sources.ForeignMessage(f"{key}:{number}" if number else key, said)
    calls = tuple(
        ToolCall(words_of(each, "id"), words_of(each, "name"), json.dumps(each.get("input") or {}))
        for each in blocks["tool_use"]
    )
    # What asked memory: one of its tools, over MCP too, or its command.
    memory_calls.update(
        call.id
        for call in calls
        if call.name.rpartition("__")[2] in OWN_TOOLS or OWN_COMMAND.search(call.arguments)
    )
    text = _text(blocks["text"])
    if role == "user":
        text = WRAPPED.sub("", text).strip()
        counts.leave_out("commands and notices", bool(blocks["text"] and not text))
    if text or calls:
        answer = message.get("id") if role == "assistant" else None
        said = NewMessage(role=role, content=text, tool_calls=calls, timestamp=at)
        yield sources.ForeignMessage(f"{key}:said" if blocks["tool_result"] else key, said, answer)


def _blocks(content: Any) -> Sequence[Any]:
    if isinstance(content, list):
        return content
    if not isinstance(content, str | None):
        raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")
    return [{"type": "text", "text": content}] if content else []


def _text(content: Any) -> str:
    return sources.joined(words_of(each, "text") for each in _blocks(content))
