"""What the hooks of coding agents do: tell a model what is known, and save what was said.

Claude Code and Codex pass an event as JSON to a command; what it prints as ``additionalContext``
their model reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.memory import Memory

# Tokens of what a model is told: the notes when a session begins, memories with a prompt.
NOTES_BUDGET, RECALL_BUDGET = 2_000, 800
NO_EVENT = "standard input is not an event of a hook: expected JSON with"
Event = Mapping[str, Any]


def parse_event(text: str) -> Event:
    """Return the event that a hook was given.

    Raises:
        InvalidInput: it is none.
    """
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("session_id"), str):
        raise InvalidInput(f"{NO_EVENT} session_id, got {text.strip()!r:.80}")
    return event


def answer_event(memory: Memory, event: Event) -> dict[str, Any] | None:
    """Return what a model is told at an event; ``None`` where it is told nothing.

    When a session begins, and again after a compaction, these are the notes with the lasting
    instructions; with a prompt, what is remembered for it, but nothing of the same session.
    """
    name = event.get("hook_event_name")
    if name == "SessionStart":
        chat = memory.stored_conversations.unsaved()
        sent = chat.context(None, budget=NOTES_BUDGET).messages
        text = "\n".join(str(each["content"]) for each in sent)
    elif name == "UserPromptSubmit" and str(event.get("prompt") or "").strip():
        said = event["session_id"]
        text = memory.recall(event["prompt"], budget=RECALL_BUDGET, exclude_session=said).text
    else:
        text = ""
    told = {"hookEventName": name, "additionalContext": text}
    return {"hookSpecificOutput": told} if text else None


def find_transcript(event: Event) -> Path | None:
    """Return the transcript that an event asks to save; ``None`` at an event that asks for none.

    Raises:
        InvalidInput: the event names no transcript.
    """
    if event.get("hook_event_name") in {"SessionStart", "UserPromptSubmit"}:
        return None
    path = event.get("transcript_path")
    if not isinstance(path, str):
        raise InvalidInput(f"{NO_EVENT} session_id and transcript_path, got {dict(event)!r:.80}")
    return Path(path).expanduser()
