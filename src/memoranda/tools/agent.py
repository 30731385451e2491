"""The six tools of the agent itself: search, remember, correct, confirm, figures, entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated

from memoranda.errors import InvalidInput, NotFound
from memoranda.learning.extraction.exclusions import is_order
from memoranda.model.checks import clean, limited
from memoranda.model.models import MEMORY_KINDS, Entity, Kind, Record
from memoranda.model.query import Filter
from memoranda.model.reports import MemoryStats
from memoranda.records.drafts import Draft, draft_correction, parse_kind
from memoranda.records.service import RecordService
from memoranda.search.recall import RecallService, fenced, mask_secrets, remembered
from memoranda.text.secrets import secret_kind
from memoranda.tools.tool import TEXT, Tool, described

MOST_FOUND = 20
ROLE = "agent"
ORIGIN = "tool"
LINKED = 10  # records of an entity that are shown

FACT_ID = described("Id of the fact, as search_memory shows it.")
KIND = described(
    "Only this kind of memory.", {"type": "string", "enum": list(map(str, MEMORY_KINDS))}
)
LIMIT = described(
    "How many results at most; 5 if not given.",
    {"type": "integer", "minimum": 1, "maximum": MOST_FOUND},
)
TAGS = described("Labels to find it by.", {"type": "array", "items": TEXT})


class AgentTools:
    """Makes the tools of one memory (requirements S4.61 to S4.66).

    Args:
        records: changes the records of its user.
        searcher: finds them.
        stats: gives the figures of the memory.
        entity: gives the profile of an entity.
    """

    def __init__(
        self,
        records: RecordService,
        searcher: RecallService,
        *,
        stats: Callable[[], MemoryStats],
        entity: Callable[[str], Entity | None],
    ) -> None:
        """Do nothing yet."""
        self._records = records
        self._searcher = searcher
        self._figures = stats
        self._profile = entity

    def tools(self) -> list[Tool]:
        """Return the tools."""
        functions = (
            self.search_memory,
            self.remember_fact,
            self.correct_fact,
            self.confirm_fact,
            self.memory_stats,
            self.get_entity_info,
        )
        return [Tool.of(function) for function in functions]

    def search_memory(
        self,
        query: Annotated[str, described("What to look for, as a question or words.")],
        kind: Annotated[str | None, KIND] = None,
        limit: Annotated[int, LIMIT] = 5,
    ) -> str:
        """Search long-term memory: facts, earlier conversations and insights.

        Use it before you say that you do not know something about the user or the past.
        """
        kinds = () if kind is None else (parse_kind(kind),)
        where = Filter(now=self._records.now(), kinds=kinds)
        most = min(limited(limit, "limit"), MOST_FOUND)
        hits = self._searcher.search_for_model(clean(query, "query"), where, limit=most)
        if not hits:
            return "Nothing in memory answers this."
        facts = self._searcher.record_access(hits, where)
        # A turn has no id to correct or confirm by; the facts that were drawn from it have.
        told = [record for hit in hits for record in (hit.record, *facts.get(hit.record.id, ()))]
        return fenced(self._lines({record.id: record for record in told}.values()))

    def _lines(self, records: Iterable[Record]) -> list[str]:
        zone = self._searcher.zone
        return [remembered(mask_secrets(record), zone, id=True) for record in records]

    def remember_fact(
        self,
        content: Annotated[str, described("The fact, one sentence.")],
        tags: Annotated[Sequence[str], TAGS] = (),
    ) -> str:
        """Save a fact for good: something durable that the user said or asked you to keep.

        One self-contained sentence with names and dates.
        """
        draft = Draft(content=kept(content), tags=tags, role=ROLE, origin=ORIGIN)
        insert = self._records.plan(draft)
        for known in self._records.same_fact(insert):
            return f"Known already as {known.id}."
        return f"Remembered as {self._records.apply([insert])[0].id}."

    def correct_fact(
        self,
        id: Annotated[str, described("Id of the old fact, as search_memory shows it.")],
        content: Annotated[str, described("What is true instead, one sentence.")],
    ) -> str:
        """Replace a remembered fact that is wrong or no longer true."""
        return f"Corrected: {self.corrected(id, content).id} takes the place of {id}."

    def corrected(self, id: str, content: str) -> Record:
        """Return the fact that takes the place of the fact ``id``.

        Raises:
            NotFound: there is no such fact.
            InvalidInput: it is no longer believed, ``content`` may not be kept, or says the same.
        """
        old, text = self._active_fact(id), kept(content)
        if text == old.content:
            # It would only put the agent's word in the place of a person's.
            raise InvalidInput(f"{id} says just that already; there is nothing to correct")
        # The agent's own word, whoever's the old one was: it is no evidence of what a person said.
        draft = replace(draft_correction(old, text), role=ROLE, origin=ORIGIN, source_ids=())
        return self._records.correct(old, draft)

    def confirm_fact(self, id: Annotated[str, FACT_ID]) -> str:
        """Protect a fact that the user has confirmed: it never fades."""
        return f"Confirmed: {self.confirmed(id).id} never fades."

    def confirmed(self, id: str) -> Record:
        """Return the fact ``id``, which never fades from now on.

        Raises:
            NotFound: there is no such fact.
            InvalidInput: it is no longer believed.
        """
        return self._records.confirm(self._active_fact(id).id)

    def _active_fact(self, id: str) -> Record:
        """Return a fact that is believed: turns and insights are not the agent's to change."""
        return self._records.require_active(find_fact(self._records, id))

    def memory_stats(self) -> str:
        """How much memory holds, by kind, and when something was last recorded."""
        stats, when = self._figures(), "never"
        counts = ", ".join(f"{number} {kind}" for kind, number in stats.records.items())
        if stats.newest is not None:
            when = f"{stats.newest.astimezone(self._searcher.zone):%Y-%m-%d %H:%M}"
        return f"{counts}; {stats.conversations} conversations; last recorded {when}"

    def get_entity_info(
        self, name: Annotated[str, described("Its name, or another name it goes by.")]
    ) -> str:
        """All that is known about a person, place, organization or project."""
        entity = self._profile(name)
        if entity is None:
            return f"Nothing is known of {name!r:.80}."
        also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
        head = f"{entity.name} ({entity.type}{also}); in {entity.mention_count} records"
        if entity.summary:
            head = f"{head}: {entity.summary}"
        told = [item for item in entity.records if item.kind is not Kind.REFLECTION]
        told.sort(key=lambda item: item.kind is not Kind.FACT)
        return fenced([head, *self._lines(told[:LINKED])])


def find_fact(records: RecordService, id: str) -> Record:
    """Return the fact ``id`` of the scope of ``records``.

    Raises:
        NotFound: there is none.
    """
    found = records.store.get(records.scope, [clean(id, "id")]).get(id)
    if found is None or found.kind is not Kind.FACT:
        raise NotFound(f"there is no fact {id!r:.80}; take an id that begins with fact_")
    return found


def kept(content: object, name: str = "content") -> str:
    """Return ``content`` if it may be kept on the word of an agent.

    Raises:
        InvalidInput: it holds a secret, or is an order to the assistant.
    """
    text = clean(content, name)
    found = secret_kind(text)
    if found is not None:
        raise InvalidInput(f"{name} seems to hold {found}; secrets are not kept in memory")
    if is_order(text):
        raise InvalidInput(f"{name} is an order to the assistant and no fact; it is not kept")
    return text
