"""The tools of a consolidating agent (requirement S4.67): it reads sessions and writes facts.

For those who let a model of their own do what :meth:`memoranda.Memory.consolidate` does. They
are never among the tools of the agent that talks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from memoranda.errors import InvalidInput
from memoranda.learning.claims import Category, Claim, Relation, Statement
from memoranda.learning.conflicts import RuleJudge
from memoranda.learning.consolidation_plan import SUPERSEDED
from memoranda.learning.consolidator import CANDIDATES, PAGE, SPEAKER, Consolidator
from memoranda.learning.extraction.exclusions import is_refused
from memoranda.model.changes import Insert, Supersede
from memoranda.model.checks import ErrorPrefix, clean, parse_moment
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.query import Filter
from memoranda.records.pages import session_episodes
from memoranda.search.recall import fenced, remembered
from memoranda.text.secrets import has_secret
from memoranda.tools.agent import find_fact
from memoranda.tools.tool import TEXT, Tool, described

MOST_TURNS = 2**31
# Of a fact whose confidence the caller does not say.
CONFIDENCE = 0.8
SESSION = described("Id of the session.")
AFTER = described("Position of the last turn of the page before.", {"type": "integer"})
FACT = {
    "type": "object",
    "properties": {
        "content": described(
            "One self-contained sentence, with names and dates in full.", {**TEXT, "minLength": 1}
        ),
        "source_ids": described(
            "Ids of the episodes that say it; one of a person at least.",
            {"type": "array", "items": TEXT, "minItems": 1},
        ),
        "subject": described("Whom or what it is about."),
        "category": described(
            "What kind of fact it is.",
            {"type": "string", "enum": [category.value for category in Category]},
        ),
        "event_time": described("When it happened, ISO 8601 with a time zone."),
        "confidence": described("0 to 1.", {"type": "number", "minimum": 0, "maximum": 1}),
    },
    "required": ["content", "source_ids"],
    "additionalProperties": False,
}
FACTS = described("The facts.", {"type": "array", "items": FACT})


class ConsolidatorTools:
    """Makes the tools for one scope."""

    def __init__(self, consolidator: Consolidator) -> None:
        """Let an agent do what ``consolidator`` does."""
        self._consolidator, self._session = consolidator, consolidator.session
        self._records, self._searcher = consolidator.records, consolidator.searcher
        self._store, self._scope = self._records.store, self._records.scope
        self._judge = RuleJudge()

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

    def is_session_consolidated(self, session_id: Annotated[str, SESSION]) -> str:
        """Whether a session was consolidated already: then there is nothing to do."""
        return "no" if self._session(session_id).consolidated_at is None else "yes"

    def get_episodes_for_consolidation(
        self, session_id: Annotated[str, SESSION], after: Annotated[int | None, AFTER] = None
    ) -> str:
        """The next 30 turns of a session that were not read yet."""
        # More than there can be, to either side, is as much as there is.
        asked = None if after is None else max(-1, min(after, MOST_TURNS))
        start = self._session(session_id).through if asked is None else asked
        found = session_episodes(self._store, self._scope, session_id, after=start, limit=PAGE)
        if not found:
            return "There are no more turns."
        zone = self._searcher.zone
        last = found[-1].position
        lines = [remembered(self._searcher.show(record), zone, id=True) for record in found]
        return f"{fenced(lines)}\nLast position: {last}"

    def save_facts_batch(
        self,
        session_id: Annotated[str, SESSION],
        facts: Annotated[Sequence[Mapping[str, Any]], FACTS],
    ) -> str:
        """Save facts drawn from the session. What is known already is credited instead."""
        self._session(session_id)
        claims = []
        for place, fact in enumerate(facts):
            with ErrorPrefix(f"facts[{place}]"):
                claims.append(self._claim(session_id, **fact))
        actions = self._consolidator.plan(session_id, claims, only=Relation.DUPLICATE)
        self._records.apply(actions)
        made = [action.record.id for action in actions if isinstance(action, Insert)]
        known = len(claims) - len(made)
        return f"Saved {len(made)} ({', '.join(made) or 'none'}); {known} were known already."

    def _claim(
        self,
        session: str,
        *,
        content: str,
        source_ids: Sequence[str],
        subject: str | None = None,
        category: str = Category.STATE,
        event_time: str | None = None,
        confidence: float = CONFIDENCE,
    ) -> Claim:
        content = clean(content, "content")
        if has_secret(content) or is_refused(content):
            raise InvalidInput("it holds a secret, or an order to the assistant; leave it out")
        sources = self._sources(session, source_ids)
        first, speaker = sources[0], sources[0].source_role or SPEAKER
        at = first.event_time if event_time is None else parse_moment(event_time, "event_time")
        return Claim(
            content=content,
            subject=subject or speaker,
            category=Category(category),
            sources=tuple(record.id for record in sources),
            speaker=speaker,
            person=first.trust is Trust.PERSON,
            said_at=first.event_time,
            event_time=at,
            confidence=confidence,
        )

    def _sources(self, session: str, ids: Sequence[str]) -> list[Record]:
        """Return the episodes of a session among ``ids``, those of a person first."""
        found = self._store.get(self._scope, list(ids)).values()
        own = [item for item in found if item.session_id == session and item.kind is Kind.EPISODE]
        own.sort(key=lambda item: item.trust is not Trust.PERSON)
        if not own or own[0].trust is not Trust.PERSON:
            raise InvalidInput(
                f"source_ids={ids!r:.200} names no turn of a person in session {session!r}; "
                f"only what a person said is evidence"
            )
        return own

    def detect_conflicts(self, fact_id: Annotated[str, described("The new fact.")]) -> str:
        """Facts that may contradict a fact, with what rules say of each."""
        fact = find_fact(self._records, fact_id)
        where = Filter(now=self._records.now(), kinds=(Kind.FACT,))
        hits = self._searcher.retriever.search(
            self._scope, fact.content, where, limit=CANDIDATES, skip=frozenset({fact.id})
        )
        lines = []
        for hit in hits:
            verdict = self._judge.judge(_statement(hit.record), _statement(fact))
            line = remembered(self._searcher.show(hit.record), self._searcher.zone, id=True)
            lines.append(f"{line} ({verdict.relation.value}: {verdict.why})")
        return fenced(lines) if lines else "No fact has to do with it."

    def resolve_conflict(
        self,
        old_id: Annotated[str, described("The older fact.")],
        new_id: Annotated[str, described("The newer fact.")],
    ) -> str:
        """Let a newer fact take the place of an older one that is no longer true."""
        old, new = find_fact(self._records, old_id), find_fact(self._records, new_id)
        if new.superseded_by is not None:
            message = f"{new.superseded_by} took the place of {new.id}; name what is true now"
            raise InvalidInput(message)
        if old.trust is Trust.PERSON and new.trust is not Trust.PERSON:
            message = f"{old.id} is a person's word, and {new.id} is not: only a person retires it"
            raise InvalidInput(message)
        now, confidence = self._records.now(), min(SUPERSEDED, old.confidence)
        action = Supersede(old.id, new.id, now, confidence, "resolved by the consolidating agent")
        self._store.apply(self._scope, [action])
        return f"{old.id} is believed less ({confidence:g}); {new.id} took its place."

    def mark_session_consolidated(self, session_id: Annotated[str, SESSION]) -> str:
        """Say that all of a session was read."""
        info = self._session(session_id)
        rest = session_episodes(self._store, self._scope, session_id, after=info.through)
        after = max([info.through, *(record.position or 0 for record in rest)])
        with self._store.write(self._scope) as tx:
            tx.advance_session(session_id, through=after, at=self._records.now(), finished=True)
        return f"{session_id} is consolidated."


def _statement(record: Record) -> Statement:
    return Statement(record.content, record.event_time, record.metadata.get("subject") or None)
