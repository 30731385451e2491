"""Session transcripts of Claude Code: ``~/.claude/projects/<project>/<session>.jsonl``.

The format is not published; what is read here are the lines ``user`` and ``assistant`` with a
message in Anthropic's form, and what a person typed while Claude worked. A conversation is named
after the session of its lines. No talk are: thinking, lines marked as meta, side chains (talk of
the agent with its own agents), summaries that stand for talk that is there already, errors of the
service, and what the program wraps in tags: slash commands, output of local commands, reminders.
Branches that were given up were said all the same, and stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memoranda.conversation.formats.parse import parse_message, unread_parts
from memoranda.errors import InvalidInput
from memoranda.model.models import ConversationInfo
from memoranda.text.json_values import object_of, value_of, words_of
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import FENCE, escape_fence
from memoranda.transfer import sources

_NAMES = sources.NAMES["claude_code"]
# What no person said, between tags; and what is no result of a tool.
WRAPPED = compile_pattern(
    "|".join(rf"<{tag}(?:\s[^<>]*)?>.*?</{tag}>" for tag in _NAMES["wrappers"])
    + r"|\[Request interrupted by user(?: for tool use)?\]",
    re.DOTALL,
)
REMINDER = compile_pattern("<system-reminder>.*?</system-reminder>", re.DOTALL)
# Name and arguments of a call that asks memory: one of its tools, over MCP too, or its command.
OF_MEMORY = compile_pattern(
    rf"^(?:\S*__)?(?:{'|'.join(_NAMES['own_tools'])})\n|[\"\s;&|(](?:[^\s\"]*/)?memoranda\s+\w"
)
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
        message = f"{path} is not a transcript of Claude Code: no line has a sessionId"
        raise InvalidInput(f"{message}; of a folder, {' and '.join(PATTERNS)} are read")
    for file in sorted(found, key=lambda each: each.stat().st_mtime_ns):
        sessions = defaultdict[str, list[sources.ForeignMessage]](list)
        asked = set[str]()
        for place, value in sources.read_values(file, counts):
            with counts.reading(place):
                line = _typed_meanwhile(object_of(value))
                sessions[str(line.get("sessionId") or file.stem)] += _messages(line, asked, counts)
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
        message = {"role": "user", "content": line.get("content")}
    elif words_of(attached, "type") == "queued_command":
        message = {"role": "user", "content": value_of(attached, "prompt")}
    else:
        return line
    key = f"{line.get('sessionId')} {parse_message(message)[0].content}"
    return {**line, "type": "user", "uuid": key, "message": message}


def _messages(
    line: Mapping[str, Any], asked: set[str], counts: sources.ImportCounts
) -> Iterator[sources.ForeignMessage]:
    """Yield the messages of a line: each result of a tool, and behind them what was said.

    Args:
        line: the line.
        asked: the calls so far that asked memory; those of the line are added.
        counts: counts what is no talk.
    """
    role = words_of(line, "type")
    if role not in {"user", "assistant"}:
        counts.leave_out("lines without talk")
        return
    key, message = sources.text_of(line, "uuid"), object_of(line.get("message"))
    for mark in _NAMES["marked"]:
        if line.get(mark) or message.get("model") == mark:
            counts.leave_out(f"lines marked {mark}")
            return
    at = sources.moment_of(line.get("timestamp"), "timestamp")
    given = {"role": role, "content": message.get("content"), "timestamp": at}
    for number, said in enumerate(parse_message(given)):
        for part in (
            *unread_parts(said.raw),
            *({"type": image.label.strip("[]")} for image in said.images),
        ):
            counts.leave_out(f"parts of the type {words_of(part, 'type')}")
        calls, result, text = said.tool_calls, said.tool_result, said.content
        asked |= {it.id for it in calls if OF_MEMORY.search(f"{it.name}\n{it.arguments}")}
        if role == "user":
            text = (REMINDER if result else WRAPPED).sub("", text).strip("\n")
        if result and result.call_id in asked and text:
            # In the fence of what memory told, by which it is known as told and never as new.
            text = f"<{FENCE}>\n{escape_fence(text)}\n</{FENCE}>"
        if text.strip() or calls or result:
            own = f"{key}:{number if result else 'said'}" if number else key
            talk = replace(said, content=text, images=(), raw=None, part=0)
            yield sources.ForeignMessage(own, talk, message.get("id"))
        elif role == "user" and said.content:
            counts.leave_out("commands and notices")
