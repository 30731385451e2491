"""The tools of a consolidating agent (requirement S4.67): it reads sessions and writes facts.

For those who let a model of their own do what :meth:`memoranda.Memory.consolidate` does. They
are never among the tools of the agent that talks.
"""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from memoranda.errors import InvalidInput
from memoranda.learning.claims import Category, Claim, Relation
from memoranda.learning.consolidation_plan import SUPERSEDED
from memoranda.learning.consolidator import CANDIDATES, PAGE, Consolidator
from memoranda.learning.known_facts import with_attribute
from memoranda.learning.llm.claim_checking import ClaimAnswer, ClaimChecker, telling_terms
from memoranda.model.changes import Insert, Supersede
from memoranda.model.checks import clean, error_prefix
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.query import Filter
from memoranda.records.service import session_episodes
from memoranda.search.recall import fenced
from memoranda.tools.agent import find_fact, list_records, spare_instruction
from memoranda.tools.tool import Tool, read_text

SessionId = Annotated[str, Field(description="Id of the session.")]
After = Annotated[
    int | None, Field(ge=-1, lt=2**31, description="Position of the last turn of the page before.")
]


class FactArgument(BaseModel, extra="forbid"):
    """A fact that an agent drew from a session."""

    content: str = Field(description="One self-contained sentence, names and dates in full.")
    source_ids: list[str] = Field(
        description="Ids of the episodes that say it; one of a person at least."
    )
    quote: str = Field("", description="The words of the first source that say it, verbatim.")
    subject: str = Field("", description="Whom or what it is about.")
    category: Category = Field(Category.STATE, description="What kind of fact it is.")
    confidence: float = Field(0.8, ge=0, le=1, description="How sure it is, 0 to 1.")


class ConsolidatorTools:
    """Makes the tools for one scope."""

    def __init__(self, consolidator: Consolidator) -> None:
        """Let an agent do what ``consolidator`` does."""
        self._consolidator, self._session = consolidator, consolidator.session
        self._records, self._searcher = consolidator.records, consolidator.searcher
        self._store, self._scope = self._records.store, self._records.scope

    def tools(self) -> list[Tool]:
        """Return the tools."""
        functions = (
            self.is_session_consolidated,
            self.get_episodes_for_consolidation,
            self.save_facts_batch,
            self.detect_conflicts,
            self.resolve_conflict,
            self.mark_session_consolidated,
        )
        return [Tool.of(function) for function in functions]

    def is_session_consolidated(self, *, session_id: SessionId) -> str:
        """Whether a session was consolidated already: then there is nothing to do."""
        return "no" if self._session(session_id).consolidated_at is None else "yes"

    def get_episodes_for_consolidation(self, *, session_id: SessionId, after: After = None) -> str:
        """The next 30 turns of a session that were not read yet."""
        start = self._session(session_id).through if after is None else after
        found = session_episodes(self._store, self._scope, session_id, after=start, limit=PAGE)
        if not found:
            return "There are no more turns."
        told = fenced(list_records(self._searcher, found))
        return f"{told}\nLast position: {found[-1].position}"

    def save_facts_batch(
        self,
        *,
        session_id: SessionId,
        facts: Annotated[
            list[FactArgument], BeforeValidator(read_text), Field(description="The facts.")
        ],
    ) -> str:
        """Save facts drawn from the session. What is known already is credited instead."""
        self._session(session_id)
        claims = []
        for place, fact in enumerate(facts):
            with error_prefix(f"facts.{place}"):
                claims.append(self._claim(session_id, fact))
        actions = self._consolidator.plan(session_id, claims, only=Relation.DUPLICATE)
        self._records.apply(actions)
        made = [action.record.id for action in actions if isinstance(action, Insert)]
        known = len(claims) - len(made)
        return f"Saved {len(made)} ({', '.join(made) or 'none'}); {known} were known already."

    def _claim(self, session: str, fact: FactArgument) -> Claim:
        """Return the claim that an agent makes, as the pipeline checks it."""
        sources = self._sources(session, fact.source_ids)
        earlier, page = self._consolidator.read_turns(session, sources)
        clean(fact.content, "content")
        given = fact.model_dump(exclude={"source_ids"})
        drawn = ClaimAnswer(sources=[turn.id for turn in page], **given)
        checked = ClaimChecker(page, earlier, self._scope.user).check(drawn)
        if isinstance(checked, str):
            raise InvalidInput(f"{checked}; leave it out, or cite the turns that say it")
        return checked

    def _sources(self, session: str, ids: list[str]) -> list[Record]:
        """Return the episodes of a session among ``ids``, in order."""
        found = self._store.get(self._scope, ids).values()
        own = [item for item in found if item.session_id == session and item.kind is Kind.EPISODE]
        if not any(item.trust is Trust.PERSON for item in own):
            raise InvalidInput("source_ids: only what a person said is evidence")
        return sorted(own, key=lambda item: item.position or 0)

    def detect_conflicts(
        self, *, fact_id: Annotated[str, Field(description="Id of the new fact.")]
    ) -> str:
        """Facts that may contradict a fact: those that have most to do with it."""
        fact = find_fact(self._records, fact_id)
        where = Filter(now=self._records.now(), kinds=(Kind.FACT,))
        hits = self._searcher.retriever.search(
            self._scope, fact.content, where, limit=CANDIDATES, skip=frozenset({fact.id})
        )
        told = list_records(self._searcher, (hit.record for hit in hits))
        return fenced(told) if told else "No fact has to do with it."

    def resolve_conflict(
        self,
        *,
        old_id: Annotated[str, Field(description="Id of the older fact.")],
        new_id: Annotated[str, Field(description="Id of the newer fact.")],
    ) -> str:
        """Let a newer fact take the place of an older one that is no longer true."""
        if self._consolidator.settings.approve:
            raise InvalidInput("consolidation.approve: only a person ends what is believed")
        old, new = find_fact(self._records, old_id), find_fact(self._records, new_id)
        self._records.require_active(new)
        if new.superseded_by is not None:
            raise InvalidInput(f"{new.superseded_by} took its place; name what is true now")
        if not _may_conflict(old, new):
            raise InvalidInput(f"{old.id} and {new.id} say nothing of one subject; both stay")
        if old.trust is Trust.PERSON and new.trust is not Trust.PERSON:
            raise InvalidInput(f"{old.id} is a person's word: only a person retires it")
        spare_instruction(old)
        now, confidence = self._records.now(), min(SUPERSEDED, old.confidence)
        action = Supersede(old.id, new.id, now, confidence, "resolved by the consolidating agent")
        self._store.apply(self._scope, [action])
        return f"{old.id} is believed less ({confidence:g}); {new.id} took its place."

    def mark_session_consolidated(self, *, session_id: SessionId) -> str:
        """Say that all of a session was read."""
        info = self._session(session_id)
        rest = session_episodes(self._store, self._scope, session_id, after=info.through)
        after = max([info.through, *(record.position or 0 for record in rest)])
        with self._store.write(self._scope) as tx:
            tx.advance_session(session_id, through=after, at=self._records.now(), finished=True)
        return f"{session_id} is consolidated."


def _may_conflict(old: Record, new: Record) -> bool:
    """Return whether two facts are of one attribute of one subject, or share what they tell."""
    one, other = with_attribute(old), with_attribute(new)
    if one.attribute or other.attribute:
        return (one.subject, one.attribute) == (other.subject, other.attribute)
    return not telling_terms(old.content).isdisjoint(telling_terms(new.content))
