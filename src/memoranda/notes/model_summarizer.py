"""Writes a history entry and an update of MEMORY.md with a language model (S2.16 to S2.23)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoranda.learning.claims import Turn
from memoranda.learning.llm.model_stages import fenced, instructions, moment, shortened
from memoranda.model.notes import MEMORY_BYTES
from memoranda.model.ports import LanguageModel
from memoranda.text.lines import cut, one_line, stamp
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import CLOSING, OPENING, without_recalled
from memoranda.text.secrets import mask_secrets

EMPTY = "(empty)"
# Characters of an entry: it tells a talk in one paragraph.
LONGEST = 2_000
MEMORY = "## Current Long-term Memory"
# The headings of the prompt (requirement S2.22).
TALK = "## Conversation to Process"
_STAMP = compile_pattern(r"\A\s*(?:#+\s*)?\[\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?Z?)?\][\s:-]*")
# The tags of the prompt, which a model may give back.
_TAG = compile_pattern(r"</?(?:memory|turns)\b[^<>]*>", re.IGNORECASE)
_MARKUP = compile_pattern(r"^\s*(?:```\w*|~~~\w*|#{1,6}\s)\s*")


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A model's summary of a conversation; see ``prompts/summary.md`` for each field."""

    history_entry: str = ""
    memory_update: str = ""


async def summarize(
    model: LanguageModel, turns: Sequence[Turn], memory: str, *, most_bytes: int = MEMORY_BYTES
) -> Consolidation:
    """Return the entry of a conversation and the new notes, as a model writes them.

    The texts of the prompt are data: one JSON object a line, between tags that they cannot close.

    An empty ``history_entry`` or ``memory_update`` says that there is nothing to write. An
    entry begins with the time of the last turn, whatever the model wrote there, is one paragraph
    of at most 2,000 characters, and holds no secret and no fence of memory. The update is as
    the model gave it, but for such fences: it is a proposal, for
    :func:`~memoranda.learning.llm.memory_proposal.proposal` to judge.

    Args:
        model: what writes.
        turns: the talk.
        memory: the notes as they stand.
        most_bytes: size of the notes beyond which they are to be shortened.

    Raises:
        LLMError: the model failed; ``error.usage`` says what was spent.
    """
    task, notes = instructions("summary"), memory.strip()
    if len(memory.encode(errors="replace")) > most_bytes:
        task += f"\n\n{instructions('compress')}".replace("{bytes}", str(most_bytes))
    rows = [
        {"speaker": turn.speaker, "at": moment(turn.at), "text": shortened(turn.text)}
        for turn in turns
    ]
    told = fenced("memory", [{"text": notes}]) if notes else EMPTY
    prompt = f"{MEMORY}\n{told}\n\n{TALK}\n{fenced('turns', rows)}"
    reply = await model.ask(task, prompt, Consolidation)
    update = _TAG.sub("", _unfenced(reply.value.memory_update)).strip()
    entry = _entry(reply.value.history_entry, turns[-1].at)
    return Consolidation(entry, "" if update in {notes, EMPTY} else update)


def _entry(written: str, at: datetime) -> str:
    """Return the entry that a model wrote, made fit for the history."""
    lines = [_MARKUP.sub("", line) for line in _TAG.sub("", _unfenced(written)).split("\n")]
    text = mask_secrets(one_line(_STAMP.sub("", "\n".join(lines))))
    text = _STAMP.sub("", text)
    return cut(f"{stamp(at)} {text}", LONGEST) if text else ""


def _unfenced(text: str) -> str:
    """Return ``text`` without blocks of recall, and without tags of theirs that are left over."""
    return CLOSING.sub("", OPENING.sub("", without_recalled(text)))
