"""Writes a history entry and an update of MEMORY.md with a language model (S2.16 to S2.23).

Models answer "No changes.", or make something up. So a shorter text of MEMORY.md is taken only if
an old line is still said in it, and without what nobody said; the former text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memoranda.errors import UnusableAnswer
from memoranda.learning.claims import Turn
from memoranda.learning.llm.claim_checking import (
    ClaimChecker,
    known_terms,
    particulars,
    telling_terms,
)
from memoranda.learning.llm.model_stages import LONGEST_TEXT, fenced, instructions, moment
from memoranda.learning.stage_models import ask_checked
from memoranda.model.notes import MEMORY_BYTES
from memoranda.model.ports import LanguageModel
from memoranda.notes.document import parse
from memoranda.notes.history_entries import stamp, write_entry
from memoranda.text.lines import cut, one_line, shorten
from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import CLOSING, OPENING, without_recalled
from memoranda.text.secrets import mask_secrets

EMPTY = "(empty)"
# Characters of an entry: it tells a talk in one paragraph.
LONGEST = 2_000
# Share of the words of an old line that a new one must have to say it still.
KEPT = 0.5
MEMORY = "## Current Long-term Memory"
# The headings of the prompt (requirement S2.22).
TALK = "## Conversation to Process"
_STAMP = compile_pattern(r"\A\s*(?:#+\s*)?\[\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?Z?)?\][\s:-]*")
# The tags of the prompt, which a model may give back.
_TAG = compile_pattern(r"</?(?:memory|turns)\b[^<>]*>", re.IGNORECASE)
_WORD = compile_pattern(r"\w")
_MARKUP = compile_pattern(r"^\s*(?:```\w*|~~~\w*|#{1,6}\s)\s*")


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A model's summary of a conversation; see ``prompts/summary.md`` for each field."""

    history_entry: str
    memory_update: str = ""


async def summarize(
    model: LanguageModel, turns: Sequence[Turn], memory: str, *, most_bytes: int = MEMORY_BYTES
) -> Consolidation:
    """Return the entry of a conversation and the new notes, as a model writes them.

    The texts of the prompt are data: one JSON object a line, between tags that they cannot close.

    An entry begins with the time of the last turn, whatever the model wrote there, is one
    paragraph of at most 2,000 characters, and holds no secret and no fence of memory. One that
    names a number, a day or a name that the turns do not, or says nothing, gives way to the entry
    by rules. The update is as the model gave it, but for such fences: a proposal to be judged;
    empty where nothing changes.

    Args:
        model: what writes.
        turns: the conversation.
        memory: the notes as they stand.
        most_bytes: size of the notes beyond which they are to be shortened.

    Raises:
        UnusableAnswer: the model gave no entry.
        LLMError: it failed; ``error.usage`` says what was spent.
    """
    task, notes = instructions("summary"), memory.strip()
    if len(memory.encode(errors="replace")) > most_bytes:
        task += f"\n\n{instructions('compress')}".replace("{bytes}", str(most_bytes))
    rows = [
        {"speaker": turn.speaker, "at": moment(turn.at), "text": shorten(turn.text, LONGEST_TEXT)}
        for turn in turns
    ]
    told = fenced("memory", [{"text": notes}]) if notes else EMPTY
    prompt = f"{MEMORY}\n{told}\n\n{TALK}\n{fenced('turns', rows)}"
    reply = await ask_checked(model, task, prompt, Consolidation)
    written, update = (
        _TAG.sub("", CLOSING.sub("", OPENING.sub("", without_recalled(text)))).strip()
        for text in (reply.value.history_entry, reply.value.memory_update)
    )
    text = _one_paragraph(written)
    if text and not _WORD.search(text):
        raise UnusableAnswer(f"{model.name} gave a placeholder in place of an entry", reply.usage)
    if not text or not ClaimChecker(turns, ()).is_founded(text):
        entry = write_entry(turns)
    else:
        entry = cut(f"{stamp(turns[-1].at)} {text}", LONGEST)
    return Consolidation(entry, "" if update in {notes, EMPTY} else update)


def _one_paragraph(written: str) -> str:
    """Return the entry that a model wrote on one line, without its own time and any secret."""
    lines = [_MARKUP.sub("", line) for line in written.split("\n")]
    return _STAMP.sub("", mask_secrets(one_line(_STAMP.sub("", "\n".join(lines)))))


def read_compression(
    memory: str, update: str, turns: Sequence[Turn]
) -> tuple[str, Callable[[str], str | None]] | None:
    """Return a model's shorter text of a MEMORY.md that is too long, without what nobody said.

    With it comes what gives the bullet of it that says an old line, if one does. Secrets are
    masked; a text that says no old line is none.

    Args:
        memory: the file as it was shown to the model.
        update: the text that the model gave.
        turns: the conversation that the model was shown.
    """
    text = "".join(f"{mask_secrets(line)}\n" for line in update.strip().splitlines())
    if len(text) >= len(memory):
        return None
    evidence = "\n".join([memory, *(turn.text for turn in turns if turn.person)])
    words = known_terms(evidence)
    known = {item.text for item in parse(memory).items}

    def holds(said: str) -> bool:
        founded = particulars(said) <= words
        return said in known or (founded and _line_for(said, lines={evidence: words}) is not None)

    document = parse(text)
    left = document.patch({item: None for item in document.items if not holds(item.text)})
    line_for = partial(
        _line_for, lines={each.text: telling_terms(each.text) for each in left.bullets}
    )
    return (left.render(), line_for) if any(map(line_for, known)) else None


def _line_for(old: str, *, lines: Mapping[str, set[str]]) -> str | None:
    """Return which of some lines says an old one, whole or shortened, if one does."""
    wanted = telling_terms(old)
    if old in lines or not wanted:
        return old if old in lines else None
    best = max(lines, key=lambda line: len(wanted & lines[line]), default="")
    return best if best and len(wanted & lines[best]) >= KEPT * len(wanted) else None
