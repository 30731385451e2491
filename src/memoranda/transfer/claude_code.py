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
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
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


@dataclass
class _TranscriptState:
    """What is known so far of a transcript.

    Attributes:
        counts: counts what is no talk.
        asked: the calls that asked memory.
        queued: what was typed while Claude worked, and waits.
        typed: how often operations of the queue, and attachments, told of a text that was typed.
    """

    counts: sources.ImportCounts
    asked: set[str] = field(default_factory=set)
    queued: list[Any] = field(default_factory=list)
    typed: Counter[tuple[bool, str]] = field(default_factory=Counter)


def read_conversations(
    path: sources.File, target: sources.ImportTarget
) -> Iterator[sources.ForeignConversation]:
    """Yield the sessions in a transcript.

    Raises:
        InvalidInput: it is no transcript.
    """
    sessions = defaultdict[str, list[sources.ForeignMessage]](list)
    reading, is_transcript = _TranscriptState(target.counts), False
    for place, value in sources.read_values(path, target.counts):
        with target.counts.reading(place):
            line = _typed_meanwhile(object_of(value), reading)
            is_transcript |= "sessionId" in line
            sessions[str(line.get("sessionId") or path.stem)] += _messages(line, reading)
    if not is_transcript:
        raise InvalidInput(f"{path} is not a transcript of Claude Code: no line has a sessionId")
    for name, talk in sessions.items():
        if talk:
            begun = talk[0].said.timestamp or target.records.now()
            info = ConversationInfo(id=name, created_at=begun)
            yield sources.ForeignConversation(str(path), info, talk)


def _typed_meanwhile(line: Mapping[str, Any], reading: _TranscriptState) -> Mapping[str, Any]:
    """Return a line; as one of the user what a person typed while Claude worked.

    It waits in a queue. What is taken out of there to be sent is a line of the user by itself; what
    Claude absorbed in the middle of its work is told by an operation, an attachment, or both.
    """
    attached, is_queue = line.get("attachment"), line.get("type") == "queue-operation"
    if is_queue:
        content = _queued(line, reading.queued)
        is_said = line.get("reason") == "absorbed_mid_turn"
    else:
        content, is_said = value_of(attached, "prompt"), _is_prompt(attached)
    if not is_said:
        return line
    message = {"role": "user", "content": content}
    text = parse_message(message)[0].content
    reading.typed[is_queue, text] += 1
    number = reading.typed[is_queue, text]
    if number <= reading.typed[not is_queue, text]:
        return line
    key = f"{line.get('sessionId')} {text}" + (f"\n{number}" if number > 1 else "")
    return {**line, "type": "user", "uuid": key, "message": message}


def _queued(line: Mapping[str, Any], queued: list[Any]) -> Any:
    """Carry out an operation of the queue; return the text that it is about."""
    operation, content = line.get("operation"), line.get("content")
    if operation == "enqueue":
        queued.append(content)
    elif operation == "popAll":
        queued.clear()
    elif queued:
        taken = content if content in queued else queued[0]
        queued.remove(taken)
        return content or taken
    return content


def _is_prompt(attached: object) -> bool:
    """Whether a person typed it: no command of the shell, and no notice of a task or an agent."""
    if words_of(attached, "type") != "queued_command" or value_of(attached, "isMeta"):
        return False
    origin = value_of(value_of(attached, "origin"), "kind")
    return value_of(attached, "commandMode") in (None, "prompt") and origin in (None, "human")


def _messages(
    line: Mapping[str, Any], reading: _TranscriptState
) -> Iterator[sources.ForeignMessage]:
    """Yield the messages of a line: each result of a tool, and behind them what was said."""
    role, counts, asked = words_of(line, "type"), reading.counts, reading.asked
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
