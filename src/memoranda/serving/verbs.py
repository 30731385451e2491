"""The verbs of a served memory that a model may use, for each user."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from memoranda.errors import EmbeddingError, InvalidInput, NotFound
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.checks import clean, parse_metadata
from memoranda.model.json_object import parse_moment
from memoranda.model.models import Entity, Hit, Kind, Recall, Record, is_active
from memoranda.model.ports import Progress
from memoranda.model.query import Filter
from memoranda.model.reports import MemoryStats
from memoranda.records.drafts import Draft, parse_kind, parse_tags
from memoranda.search.recall import mask_secrets
from memoranda.text.recalled import without_recalled
from memoranda.text.secrets import HIDDEN, looks_secret, without_secrets
from memoranda.tools.agent import ORIGIN, ROLE, AgentTools, kept

MOST_IDS = 20
# Characters of the metadata of one memory, as JSON.
LONGEST_METADATA = 4_000


class Verbs:
    """The memory of one user, for a model, from which secrets are masked.

    Attributes:
        memory: what it works on.
    """

    def __init__(self, memory: Memory) -> None:
        """Work on ``memory``."""
        self.memory = memory
        parts, scope = services_of(memory), scope_of(memory)
        self._derivations, self._scope = parts.derivations, scope
        self._records, self._searcher = parts.records(scope), parts.searcher(scope)
        self._tools = AgentTools(
            self._records, self._searcher, stats=memory.stats, entity=memory.entity
        )

    def embed(self, progress: Progress) -> None:
        """Make the pending vectors of the user's records, as a search would."""
        with suppress(EmbeddingError):  # The problem shows in the status of the vectors.
            self._derivations.finish(self._scope, progress=progress)

    def search(
        self,
        query: str,
        kind: str | None,
        limit: int,
        *,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> list[Hit]:
        """Return what answers ``query``, best first; it counts as recalled.

        Dates are in ISO 8601; one without a zone is in the user's.
        """
        zone = self.memory.settings.zone
        where = Filter(
            now=self._records.now(),
            kinds=() if kind is None else (parse_kind(kind),),
            tags=() if tags is None else parse_tags(tags),
            metadata=parse_metadata(metadata),
            since=None if since is None else parse_moment(since, "since", zone),
            until=None if until is None else parse_moment(until, "until", zone),
        )
        hits = self._searcher.search_for_model(clean(query, "query"), where, limit=limit)
        self._searcher.record_access(hits, where)
        return [replace(hit, record=_told(hit.record)) for hit in hits]

    def ids(self, text: str) -> list[str]:
        """Return the ids of the memories that answer ``text``, best first; none is recalled.

        Of a blank text, none.
        """
        if not text.strip():
            return []
        where = Filter(now=self._records.now())
        hits = self._searcher.search_for_model(clean(text, "text"), where, limit=MOST_IDS)
        return [hit.record.id for hit in hits]

    def recall(self, question: str, budget: int) -> Recall:
        """Return a fenced block of ``budget`` tokens at most for ``question``."""
        return self.memory.recall(question, budget=budget)

    def store(self, content: str, kind: str, metadata: Mapping[str, Any] | None) -> Record:
        """Keep ``content`` as the model's own word; a fact that is known is not kept twice.

        One whose metadata says more than the known one's is a fact of its own.

        Raises:
            InvalidInput: it may not be kept: a secret, an order, what memory itself had told.
        """
        text = _new(content)
        length = len(json.dumps(metadata or {}, default=str))
        if length > LONGEST_METADATA:  # It comes back with every hit.
            message = f"metadata has {length:,} characters, more than {LONGEST_METADATA:,}"
            raise InvalidInput(f"{message}; put what is long into content")
        for line in _lines(metadata or {}):
            kept(line, "metadata")
        draft = Draft(content=text, kind=kind, metadata=metadata, role=ROLE, origin=ORIGIN)
        insert = self._records.plan(draft)
        for known in self._records.same_fact(insert):
            if insert.record.metadata.items() <= known.metadata.items():
                return known
        return self._records.apply([insert])[0]

    def forget(self, id: str) -> bool:
        """Forget a record; return whether there was one."""
        try:
            self.memory.forget(id)
        except NotFound:
            return False
        return True

    def correct(self, id: str, content: str) -> Record:
        """Return the fact that takes the place of the fact ``id``."""
        return self._tools.corrected(id, _new(content))

    def confirm(self, id: str) -> Record:
        """Return the fact ``id``, which never fades from now on."""
        return self._tools.confirmed(id)

    def stats(self) -> MemoryStats:
        """Return figures."""
        return self.memory.stats()

    def entity(self, name: str) -> Entity | None:
        """Return what is known of a person, place or thing, facts first, without insights."""
        found = self.memory.entity(name)
        if found is None:
            return None
        told = [mask_secrets(each) for each in found.records if each.kind is not Kind.REFLECTION]
        told.sort(key=lambda each: each.kind is not Kind.FACT)
        summary = found.summary and without_secrets(found.summary)
        return replace(found, records=tuple(told), summary=summary)

    def notes(self) -> str:
        """Return MEMORY.md, in step with the store; empty, if there is nothing to say."""
        return _unsecret(self.memory.notes.context_text(make=True))

    def history(self) -> str:
        """Return HISTORY.md; empty, if there is none."""
        return _unsecret(self.memory.notes.read_history())

    def insight(self) -> Record | None:
        """Return the newest weekly insight."""
        return self._searcher.latest_insight(Filter(now=self._records.now()))

    def record(self, id: str) -> Record | None:
        """Return an active record of this user; forgotten ones are not shown."""
        found = self.memory.get(id)
        return _told(found) if found and is_active(found, self._records.now()) else None


def _unsecret(text: str) -> str:
    """Return ``text`` without what seems to be secret, line by line."""
    return "".join(without_secrets(line) for line in text.splitlines(keepends=True))


def _new(content: str) -> str:
    """Return ``content`` if it may be kept, and is not what memory itself had told (law 9)."""
    text = kept(content)
    if without_recalled(text) != text:
        raise InvalidInput("content holds what memory had told; store only what is new")
    return text


def _lines(value: object, name: str = "") -> Iterator[str]:
    """Yield what metadata says, each value with its name, as a text would say it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, name)
    else:
        yield f"{name}: {value}"


def _told(record: Record) -> Record:
    """Return a record without what seems to be secret in its content or its metadata."""
    told = mask_secrets(record)
    if not any(looks_secret(line) for line in _lines(record.metadata)):
        return told
    return replace(told, metadata=_masked(record.metadata))


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _masked(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, name) for inner in value]
    return HIDDEN if looks_secret(f"{name}: {value}") else value
