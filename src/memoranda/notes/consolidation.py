"""Consolidates conversations into Markdown notes alone, without a store (requirements S2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from memoranda.conversation.formats.parse import parse_messages
from memoranda.errors import InvalidInput, LLMError
from memoranda.learning.claims import Claim, Relation, Turn
from memoranda.learning.extractor import RuleFactExtractor
from memoranda.learning.judge import judge_line
from memoranda.learning.speakers import name_speakers
from memoranda.learning.stage_models import ModelRunner
from memoranda.model.checks import known, number, require_aware, storable
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.models import Message
from memoranda.model.notes import MEMORY_BYTES
from memoranda.model.ports import LanguageModel
from memoranda.model.processes import follow_forks
from memoranda.notes import Notes
from memoranda.notes.document import parse
from memoranda.notes.history_entries import HistoryEntryWriter, write_raw_entry
from memoranda.notes.model_summarizer import accept_update, summarize
from memoranda.notes.projection import heading_for
from memoranda.providers.opening import open_language_model
from memoranda.settings.settings import Settings
from memoranda.text.dates.statements import DateParser
from memoranda.text.recalled import without_recalled

# Seconds that a consolidation may take (``consolidationTimeout``).
TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """The result of a consolidation: a history entry and an update of MEMORY.md.

    Attributes:
        history_entry: the entry for the history; ``None`` if nothing is worth one.
        memory_update: the whole of MEMORY.md as it is to be; ``None`` if nothing changes.
    """

    history_entry: str | None = None
    memory_update: str | None = None


class ConsolidationService:
    """Turns conversations into history entries and updates of MEMORY.md, one at a time.

    Callers wait in the order in which they came, so two talks never write over each other's
    notes. For notes without a store: a memory consolidates by itself, and keeps both in step.

    Args:
        model: what writes, or its name; rules, if not given.
        max_memory_size: bytes from which the notes are to be made smaller.
        timeout: seconds that one consolidation may take.
        settings: the time zone, and how a model that is named is asked.
        clock: tells when a message was said that does not say so.

    Raises:
        InvalidInput, ConfigError, MissingExtra: an argument cannot be used.
    """

    def __init__(
        self,
        model: LanguageModel | str | None = None,
        *,
        max_memory_size: int = MEMORY_BYTES,
        timeout: float = TIMEOUT,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Ask nothing yet."""
        self._settings = settings or Settings()
        chosen = None if model is None else open_language_model(self._settings.llm, model)
        self._model, self._runner = chosen, ModelRunner()
        self._most_bytes = max_memory_size
        self._timeout = number(timeout, "timeout")
        self._clock = clock or SystemClock()
        dates = DateParser()
        self._by_rules = HistoryEntryWriter(dates)
        self._extractor = RuleFactExtractor(dates)
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have no thread yet, as in a process that was forked."""
        # One thread takes what is asked in the order in which it comes (a sequential queue).
        self._queue = ThreadPoolExecutor(1, "memoranda-notes")

    def close(self) -> None:
        """Stop waiting for a model; what is being asked fails."""
        self._runner.close()

    def consolidate(
        self, messages: Iterable[Message | Mapping[str, Any]], current_memory: str
    ) -> ConsolidationResult:
        """Return the history entry and the update of MEMORY.md for a conversation.

        Args:
            messages: messages of a conversation, or dicts in the form of a provider; the time
                of a dict is its ``timestamp``, where it has one.
            current_memory: MEMORY.md as it stands.

        Raises:
            LLMError: the model failed, or took longer than the time-out.
            InvalidInput: an argument cannot be used.
        """
        turns = self._turns(messages)
        memory = storable(current_memory, "current_memory")
        return self._queue.submit(self._made, turns, memory).result()

    def consolidate_into(
        self, notes: Notes, messages: Iterable[Message | Mapping[str, Any]]
    ) -> ConsolidationResult:
        """Consolidate a conversation into ``notes``; nothing is lost where the model fails.

        Then, or when it takes longer than the time-out, the history gets the last ten messages
        as they were, 200 characters of each, in a ``[raw-fallback]`` entry.

        Raises:
            StoreError: the notes cannot be written.
            InvalidInput: an argument cannot be used.
        """
        turns = self._turns(messages)
        return self._queue.submit(self._write, notes, turns).result()

    def _write(self, notes: Notes, turns: Sequence[Turn]) -> ConsolidationResult:
        entry: str | None = None
        while True:
            memory = notes.read_memory()
            try:
                made = self._made(turns, memory)
            except LLMError:
                made = ConsolidationResult(None if entry else write_raw_entry(turns))
            if entry is None and made.history_entry is not None:
                entry = notes.append_history_rotated(made.history_entry).text
            update = made.memory_update
            # If a person or another process changed the file meanwhile, their text is read first.
            if update is None or notes.replace_memory(memory, update):
                return ConsolidationResult(entry, update)

    def _turns(self, messages: Iterable[Message | Mapping[str, Any]]) -> list[Turn]:
        now = require_aware(self._clock.now(), "clock")
        found = [
            Turn(
                id=f"m{place}",
                speaker=said.speaker,
                text=without_recalled(said.content),
                at=(known(said.timestamp, "timestamp") or now).astimezone(self._settings.zone),
                person=said.role == "user",
            )
            for place, said in enumerate(parse_messages(messages), 1)
            if said.content.strip() and said.role != "system"
        ]
        if not found:
            message = "messages hold nothing that was said; give it the messages of a talk"
            raise InvalidInput(message)
        return name_speakers(found)

    def _made(self, turns: Sequence[Turn], memory: str) -> ConsolidationResult:
        if self._model is None:
            update = self._updated(memory, self._extractor.extract(turns))
            entry = self._by_rules.write(turns)
        else:
            most = self._most_bytes
            asked = summarize(self._model, self._by_rules, turns, memory, most_bytes=most)
            made = self._runner.wait(asked, timeout=self._timeout)
            entry = made.history_entry
            update = accept_update(memory, made.memory_update, most_bytes=most) or memory
        return ConsolidationResult(entry or None, None if update == memory else update)

    def _updated(self, memory: str, claims: Sequence[Claim]) -> str:
        """Return MEMORY.md with what is new: a line replaced where one says otherwise."""
        document = parse(memory)
        for claim in claims:
            for item in document.bullets:
                relation = judge_line(item.text, claim)
                if relation is Relation.DUPLICATE or item.text == claim.content:
                    break
                # What is older goes, as it would in a store.
                if relation is Relation.UPDATE:
                    document = document.patch({item: claim.content})
                    break
            else:
                longer = document.add([(heading_for(str(claim.category)), claim.content)])
                document = longer if longer.size <= self._most_bytes else document
        return document.render()
