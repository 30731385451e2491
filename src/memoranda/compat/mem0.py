"""mem0: its class ``Memory``, with the calls and filters of version 2, on a memory of ours.

A memory of mem0 is a fact here: of the user, agent and run that its ids name, under an id that
stays when its text is updated. So recall, the notes and every other door know it, and what was
imported from mem0 is found under the ids that it had there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from hashlib import md5
from itertools import chain, islice
from operator import ge, gt, le, lt
from typing import Any, Self, TypeAlias
from uuid import uuid4

from memoranda.conversation.formats.parse import parse_messages
from memoranda.errors import InvalidInput
from memoranda.memory import Memory as OwnMemory
from memoranda.memory import scope_of, services_of
from memoranda.model.changes import Insert
from memoranda.model.checks import clean, limited, number, refuse_unknown
from memoranda.model.models import UNSET, ChangeAction, Hit, Kind, NewMessage, Record, Unset
from memoranda.model.query import Filter, Subset
from memoranda.records.drafts import Draft, admit_draft, draft_correction, show_record
from memoranda.text.json_values import object_of, value_of
from memoranda.text.patterns import compile_pattern
from memoranda.transfer.foreign_records import parse_end

# What mem0 says of a memory stands in the metadata under these names, as an import keeps it.
PREFIX = "mem0_"
ID, UPDATED, ENDS, RUN, ACTOR = (
    f"{PREFIX}{name}" for name in ("id", "updated_at", "expiration_date", "run_id", "actor_id")
)
SCOPES = ("user_id", "agent_id", "run_id")
# What no caller may set in metadata.
IDENTITY = {*SCOPES, "actor_id"}
# What of a memory stands beside its metadata: always, and where it has it.
CORE = ("id", "hash", "created_at", "updated_at")
PROMOTED = (*SCOPES, "actor_id", "role", "expiration_date")
# The least score of a search, and how many hits of each user filters look through.
THRESHOLD, MOST_FOUND = 0.1, 1_000
WORD = compile_pattern(r"[^\W_]+")

# A memory as filters see it.
Payload: TypeAlias = Mapping[str, Any]


class Mem0Memory:
    """Keeps memories as ``mem0.Memory`` does; needs no model, no vector store and no key.

    Args:
        memory: keeps them; by default the one of the settings. Memories without a ``user_id`` are
            its user's.
    """

    def __init__(self, memory: OwnMemory | None = None) -> None:
        """Keep nothing yet."""
        self.memory = memory or OwnMemory()

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the memory."""
        self.close()

    def close(self) -> None:
        """Close the memory that keeps them, also one that was given."""
        self.memory.close()

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: object = None,
        agent_id: object = None,
        run_id: object = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | date | None = None,
        infer: bool = True,
    ) -> dict[str, list[dict[str, Any]]]:
        """Keep the facts in messages or, without ``infer``, each message as it is.

        Raises:
            InvalidInput: there is no id, or a value cannot be used.
        """
        scope = parse_identities(user_id=user_id, agent_id=agent_id, run_id=run_id)
        handle = self._handle(scope.get("user_id"), scope.get("agent_id"))
        run, day, said = scope.get("run_id"), parse_day(expiration_date), _parse_messages(messages)
        kept = without_identity(metadata) | ({RUN: run} if run else {})
        kept |= {ENDS: day} if day else {}
        if infer:
            return {"results": _learn(handle, said, run, kept)}
        records, plans = services_of(handle).records(scope_of(handle)), []
        for each in (it for it in said if it.content.strip()):
            own = kept | ({ACTOR: each.name} if each.name else {})
            draft = Draft(content=each.content, role=each.role, metadata=own, origin="mem0")
            draft |= {"decay_rate": 0.0, "valid_until": parse_end(day, UTC)}
            plans.append(records.plan(admit_draft(draft, handle.settings.secrets.remember)))
        return {
            "results": [
                {"id": each.id, "memory": each.content, "event": "ADD"}
                | {"actor_id": each.metadata.get(ACTOR), "role": each.source_role}
                for each in records.apply(plans)
            ]
        }

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return a memory; ``None`` if there is none."""
        with suppress(InvalidInput):
            return shown(payload_of(self._find(memory_id)[1])) | {"score": None}
        return None

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **refused: object,
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the first ``top_k`` memories that pass filters.

        Raises:
            InvalidInput: the filters name no user, agent or run, or cannot be used.
        """
        where, most = _parse(filters, refused), limited(top_k, "top_k", least=0)
        held = (_passing(each, where, expired=show_expired) for each in self._handles(where))
        found = islice(chain.from_iterable(held), most)
        return {"results": [shown(payload_of(record)) for record in found]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
        **refused: object,
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the ``top_k`` memories that answer a query best, of those that pass filters.

        Raises:
            InvalidInput: the filters name no user, agent or run, or a value cannot be used.
        """
        del rerank  # as where mem0 has no model for it
        where, most = _parse(filters, refused), limited(top_k, "top_k", least=0)
        least = number(THRESHOLD if threshold is None else threshold, "threshold")
        asked, hits = clean(query, "query"), list[Hit]()
        for handle in self._handles(where):
            services, held = services_of(handle), None
            if show_expired:  # What was deleted has ended, too.
                held = {each.id for each in _facts(handle, expired=True)}
            facts = Filter(now=services.clock.now(), kinds=(Kind.FACT,), retired=show_expired)
            found = services.retriever.search(
                scope_of(handle), asked, facts, limit=MOST_FOUND, min_score=least
            )
            hits += [
                replace(hit, record=show_record(hit.record, handle.settings.secrets.search))
                for hit in found
                if (held is None or hit.record.id in held) and passes(payload_of(hit.record), where)
            ]
        best = sorted(hits, key=lambda hit: -hit.score)[:most]
        results = [shown(payload_of(hit.record)) | {"score": hit.score} for hit in best]
        for item, hit in zip(results, best if explain else (), strict=False):
            item["score_details"] = {"final_score": hit.score, "why": str(hit.why)}
        return {"results": results}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: str | date | Unset | None = UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text of a memory, add to its metadata, or end it otherwise.

        Args:
            memory_id: the memory; it keeps its id.
            text, data: what it says from now on.
            metadata: replaces what has the same names.
            expiration_date: the last day on which it is found; ``None`` is for ever.

        Raises:
            InvalidInput: there is no such memory, nothing is given, or a value cannot be used.
        """
        given = data if text is None else text
        if given is None and metadata is None and isinstance(expiration_date, Unset):
            raise InvalidInput("give at least one of text, metadata and expiration_date")
        handle, record = self._find(memory_id)
        now, until = services_of(handle).clock.now(), record.valid_until
        kept = {**record.metadata, **without_identity(metadata)}
        kept |= {ID: str(memory_id), UPDATED: now.isoformat()}
        if not isinstance(expiration_date, Unset):
            kept[ENDS] = parse_day(expiration_date)
            until = parse_end(kept[ENDS], UTC)
        draft = draft_correction(record, given or record.content)
        draft |= {"metadata": kept, "valid_until": until, "trust": record.trust}
        admitted = admit_draft(draft, handle.settings.secrets.remember)
        services_of(handle).records(scope_of(handle)).correct(record, admitted)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory; its history tells of it.

        Raises:
            InvalidInput: there is no such memory.
        """
        handle, record = self._find(memory_id)
        handle.forget(record.id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: object = None, agent_id: object = None, run_id: object = None
    ) -> dict[str, str]:
        """Forget all memories of a user, an agent or a run, or of several of these at once.

        Raises:
            InvalidInput: there is no id.
        """
        scope = parse_identities(user_id=user_id, agent_id=agent_id, run_id=run_id)
        for handle in self._handles(scope):
            if held := [each.id for each in _passing(handle, scope, expired=True)]:
                handle.forget_many(ids=held)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return what was done to a memory, also to one that was deleted, from the beginning."""
        try:
            handle, record = self._find(memory_id, deleted=True)
        except InvalidInput:
            return []
        rows: list[dict[str, Any]] = []
        for change in handle.history(record.id):
            version, is_deleted = handle.get(change.record), change.reason == "forgotten"
            told = change.action in {ChangeAction.INSERT, ChangeAction.UPDATE} or is_deleted
            if version is None or not told or (is_deleted and version.superseded_by is not None):
                continue
            row = {
                "id": f"{memory_id}/{len(rows)}",
                "memory_id": memory_id,
                "event": "DELETE" if is_deleted else "UPDATE" if rows else "ADD",
                "old_memory": rows[-1]["new_memory"] if rows else None,
                "new_memory": None if is_deleted else version.content,
                "is_deleted": is_deleted,
                "created_at": record.event_time.isoformat(),
                "updated_at": change.at.isoformat(),
                "actor_id": version.metadata.get(ACTOR),
                "role": version.source_role,
            }
            rows.append(row)
        return rows

    def reset(self) -> None:
        """Erase everything that is in the store, of every user."""
        for user in self.memory.admin.users():
            self.memory.admin.delete_user(user)

    def _handle(self, user: str | None, agent: str | None = None) -> OwnMemory:
        return self.memory.as_user(user or self.memory.user, agent=agent)

    def _handles(self, filters: Mapping[str, Any]) -> Iterator[OwnMemory]:
        """Yield the memories in which filters may find something."""
        named = filters.get("user_id", ANY)
        yield from map(self._handle, self.memory.admin.users() if named == ANY else [named])

    def _find(self, id: str, *, deleted: bool = False) -> tuple[OwnMemory, Record]:
        """Return where the memory of an id is kept, with its agent, and the memory.

        Raises:
            InvalidInput: there is none.
        """
        for handle in self._handles({}):
            own = handle.get(str(id))
            while own and own.superseded_by:
                own = handle.get(own.superseded_by)
            known = {"hashes": [own.content_hash]} if own else {"metadata": {ID: str(id)}}
            for record in _facts(handle, expired=True, deleted=deleted, **known):
                if payload_of(record)["id"] == id and (own is None or own.id == record.id):
                    return self._handle(record.user, record.agent), record
        raise InvalidInput(f"there is no memory {id!r:.80}; get_all shows those there are")


def _learn(
    handle: OwnMemory, said: Sequence[NewMessage], run: str | None, kept: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Learn the facts in messages, which stay as a conversation; return those that are new."""
    if not any(each.content.strip() for each in said):
        return []
    chat = handle.conversation(run or f"mem0 {uuid4()}")
    chat.extend(said)
    done = handle.consolidate(chat.id).actions
    facts = [each.record for each in done if isinstance(each, Insert)]
    for fact in facts if kept else ():
        until = parse_end(kept.get(ENDS), UTC) or fact.valid_until
        handle.update(fact.id, metadata={**fact.metadata, **kept}, valid_until=until)
    return [{"id": each.id, "memory": each.content, "event": "ADD"} for each in facts]


def _facts(
    handle: OwnMemory, *, expired: bool, deleted: bool = False, **conditions: Any
) -> Iterator[Record]:
    """Yield what is known of a user: also what has expired, and what was deleted or replaced."""
    services, subset = services_of(handle), Subset.STANDING if expired and not deleted else None
    where = Filter(
        now=services.clock.now(), retired=expired, kinds=(Kind.FACT,), subset=subset, **conditions
    )
    return chain.from_iterable(services.store.pages(scope_of(handle), where))


def _passing(handle: OwnMemory, filters: Mapping[str, Any], *, expired: bool) -> Iterator[Record]:
    """Yield the memories of a user that pass filters."""
    found = _facts(handle, expired=expired)
    return (each for each in found if passes(payload_of(each), filters))


def payload_of(record: Record) -> Payload:
    """Return a fact as mem0 has it: its text, metadata and all else under their names there."""
    own = {name: value for name, value in record.metadata.items() if not name.startswith(PREFIX)}
    kept = {
        name.removeprefix(PREFIX): it for name, it in record.metadata.items() if name not in own
    }
    found = {
        "data": record.content,
        "hash": md5(record.content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": record.event_time.isoformat(),
        "user_id": record.user,
        "agent_id": record.agent,
        "role": record.source_role,
    }
    always = {"id": record.id, "updated_at": record.created_at.isoformat()}
    return own | always | {n: v for n, v in {**found, **kept}.items() if v is not None}


def shown(payload: Payload) -> dict[str, Any]:
    """Return a memory as the calls of mem0 do."""
    beside = {name: payload[name] for name in (*CORE, *PROMOTED) if name in payload}
    rest = {name: value for name, value in payload.items() if name not in {*beside, "data"}}
    return {**beside, "memory": payload["data"], "metadata": rest or None}


def _parse_messages(given: Any) -> list[NewMessage]:
    """Return what somebody said of messages: those with a role and a text, but for the system's.

    Raises:
        InvalidInput: they are no text, message or list, or one is of an unknown role.
    """
    found = [{"role": "user", "content": given}] if isinstance(given, str) else given
    found = [found] if isinstance(found, Mapping) else found
    if not isinstance(found, list):
        raise InvalidInput(f"messages={given!r:.80} must be a text, a dict or a list of dicts")
    said = [it for it in found if None not in (value_of(it, "role"), value_of(it, "content"))]
    return [each for each in parse_messages(said) if each.role != "system"]


def parse_identities(**given: object) -> dict[str, str]:
    """Return the ids of a user, an agent and a run that are given, as text.

    Raises:
        InvalidInput: there is none, or one is empty or has blanks.
    """
    found = {name: str(value).strip() for name, value in given.items() if value is not None}
    if not found:
        raise InvalidInput(f"give at least one of {', '.join(SCOPES)}: filters={{'user_id': '…'}}")
    for name, text in found.items():
        if len(text.split()) != 1:
            raise InvalidInput(f"{name}={text!r:.80} must be a text without blanks")
    return found


def _parse(filters: Mapping[str, Any] | None, refused: Mapping[str, object]) -> dict[str, Any]:
    """Return filters that name a user, an agent or a run; nothing else may be given.

    Raises:
        InvalidInput: something else is given, nobody is named, or they cannot be used.
    """
    if refused:
        message = f"there is no argument {', '.join(refused)}; write filters={{'user_id': '…'}}"
        raise InvalidInput(message)
    given = dict(filters or {})
    given |= parse_identities(**{name: given.get(name) for name in SCOPES})
    passes({}, given)
    return given


def without_identity(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata without the names that say whose a memory is: no caller moves it by them."""
    return {name: value for name, value in (metadata or {}).items() if name not in IDENTITY}


def parse_day(value: object) -> str | None:
    """Return a day as mem0 writes it.

    Raises:
        InvalidInput: it is no day.
    """
    day = value.date() if isinstance(value, datetime) else value
    try:
        return None if day is None else date.fromisoformat(str(day)).isoformat()
    except ValueError as error:
        message = f"expiration_date={value!r:.80} is no day; write it as 2026-03-31"
        raise InvalidInput(message) from error


# Filters

ANY = "*"
LOGIC = ("AND", "OR", "NOT")


def passes(payload: Payload, filters: Mapping[str, Any]) -> bool:
    """Return whether a memory passes filters, as in mem0 with its default store, Qdrant.

    ``*`` asks for nothing. Of a list, one value that fits is enough; a memory that has no value
    fits no operator, ``ne`` and ``nin`` neither. ``contains`` and ``icontains`` compare whole
    words in any case.

    Raises:
        InvalidInput: an operator is unknown, or a value is none for it.
    """
    # All of them are looked at, for what cannot be used.
    return all([_meets(payload, name, wanted) for name, wanted in filters.items()])  # noqa: C419


def _meets(payload: Payload, name: str, wanted: Any) -> bool:
    if name in LOGIC:
        if not isinstance(wanted, list) or not (wanted or name == "AND"):
            raise InvalidInput(f"{name} needs a list of filters, got {wanted!r:.80}")
        asking = (each for each in map(object_of, wanted) if any(it != ANY for it in each.values()))
        parts = [passes(payload, each) for each in asking]
        return all(parts) if name == "AND" else (not parts or any(parts) is (name == "OR"))
    if wanted == ANY:
        return True
    implied = {"in" if isinstance(wanted, list) else "eq": wanted}
    value = payload.get(name)
    held = [it for it in (value if isinstance(value, list) else [value]) if it is not None]
    found = []
    for word, other in (wanted if isinstance(wanted, Mapping) else implied).items():
        refuse_unknown([word], OPERATORS, f"filters[{name!r}]")
        fits, is_value, what = OPERATORS[word]
        if not is_value(other):
            raise InvalidInput(f"filters[{name!r}][{word!r}]={other!r:.80} must be {what}")
        found.append(any(fits(each, other) for each in held))
    return all(found)


def _equal(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _is_in(value: Any, wanted: Sequence[Any]) -> bool:
    return any(_equal(value, each) for each in wanted)


def _has_words(value: Any, wanted: Any) -> bool:
    asked, held = ({each[0].lower() for each in WORD.finditer(str(it))} for it in (wanted, value))
    return isinstance(value, str) and bool(asked) and asked <= held


def _order(value: Any) -> float | datetime | None:
    """Return a number, or a moment that a text names; ``None`` for all else."""
    if isinstance(value, str):
        with suppress(ValueError):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ordered(compare: Callable[[Any, Any], bool], value: Any, wanted: Any) -> bool:
    one, other = _order(value), _order(wanted)
    return type(one) is type(other) and compare(one, other)


# Of each operator whether a value fits, and what it is compared with.
LIST = (lambda wanted: isinstance(wanted, list)), "a list"
ORDER = (lambda wanted: _order(wanted) is not None), "a number or a time"
WHATEVER = (lambda _: True), ""
OPERATORS: Mapping[str, tuple[Callable[[Any, Any], bool], Callable[[Any], bool], str]] = {
    "eq": (_equal, *WHATEVER),
    "ne": (lambda value, wanted: not _equal(value, wanted), *WHATEVER),
    "in": (_is_in, *LIST),
    "nin": (lambda value, wanted: not _is_in(value, wanted), *LIST),
    **{
        name: (partial(_ordered, compare), *ORDER)
        for name, compare in {"gt": gt, "gte": ge, "lt": lt, "lte": le}.items()
    },
    **dict.fromkeys(("contains", "icontains"), (_has_words, *WHATEVER)),
}
# The name that programs import from mem0.
Memory = Mem0Memory
