"""A talk as an entry of the history and an update of the notes (seed 002, consolidation)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recollect.core.life import Usage
from recollect.core.ports import LanguageModel
from recollect.lifecycle.claims import Turn
from recollect.lifecycle.modelled.prompting import fenced, instructions, moment, shortened

MEMORY_BYTES = 8_192
"""From this size on, the model is told to shorten the notes (seed 002, ``maxMemorySize``)."""
EMPTY = "(empty)"
STAMP = re.compile(r"\A\s*\[\d{4}-\d\d-\d\d \d\d:\d\d\]\s*")


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What a model makes of a talk; see ``prompts/summary.md`` for each field."""

    history_entry: str = ""
    memory_update: str = ""


class ModelSummarizer:
    """Writes down a talk for the history, and brings the notes up to date. Stateless.

    Args:
        model: what writes.
        most_bytes: size of the notes from which they are to be shortened.
    """

    def __init__(self, model: LanguageModel, *, most_bytes: int = MEMORY_BYTES) -> None:
        """Write with this model."""
        self._model = model
        self._most_bytes = most_bytes

    async def consolidate(
        self, turns: Sequence[Turn], memory: str, at: datetime
    ) -> tuple[Consolidation, Usage]:
        """Return the entry and the new notes, and what the model took.

        An empty ``history_entry`` or ``memory_update`` says that there is nothing to write; an
        entry begins with the time of ``at``, whatever the model wrote there.

        Args:
            turns: the talk.
            memory: the notes as they stand.
            at: when the talk is written down, in the user's time zone.

        Raises:
            LLMError: the model failed; ``error.usage`` says what was spent.
        """
        task, prompt = self.prompt(turns, memory)
        reply = await self._model.ask(task, prompt, Consolidation)
        entry = STAMP.sub("", reply.value.history_entry).strip()
        stamped = f"[{at:%Y-%m-%d %H:%M}] {entry}" if entry else ""
        update = reply.value.memory_update.strip()
        unchanged = update in {memory.strip(), EMPTY}
        return Consolidation(stamped, "" if unchanged else update), reply.usage

    def prompt(self, turns: Sequence[Turn], memory: str) -> tuple[str, str]:
        """Return the instructions and the prompt; the first asks for less if notes are too long."""
        task = instructions("summary")
        if len(memory.encode(errors="replace")) > self._most_bytes:
            task += f"\n\n{instructions('compress')}".replace("{bytes}", str(self._most_bytes))
        rows = [
            {"speaker": turn.speaker, "at": moment(turn.at), "text": shortened(turn.text)}
            for turn in turns
        ]
        notes = fenced("memory", [{"text": memory.strip() or EMPTY}])
        return task, "\n".join([notes, fenced("turns", rows)])
