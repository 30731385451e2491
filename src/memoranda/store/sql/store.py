"""A whole memory in one SQL database: reads and writes by statements that every dialect takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import InvalidInput, NotFound, StoreError, UserDeleted
from memoranda.model import actions as act
from memoranda.model.actions import Action
from memoranda.model.capabilities import NAMES, NEAREST, Capability
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import VECTORS, Analyzer, EntityExtractor, NameMatcher
from memoranda.model.query import Filter, TermMatches
from memoranda.store.sql import (
    conversation_actions,
    erasing,
    health,
    record_actions,
    redacting,
    traces,
)
from memoranda.store.sql.claims import SqlClaims
from memoranda.store.sql.database import (
    MOST_COUNTED,
    C,
    Database,
    FullText,
    Postings,
    Row,
    SqlConnection,
    indexed,
)
from memoranda.store.sql.reads import DIMENSIONS, MODEL, vector_model
from memoranda.store.sql.rows import STORED_FLOAT, VECTOR_TABLES, dump
from memoranda.store.sql.traces import TransferReads
from memoranda.store.sql.transaction import NEXT_EPOCH, SET_META, Transaction, name_digest

T = TypeVar("T")
USERS = """
SELECT name FROM users u
WHERE u.deleted = 0 AND (EXISTS (SELECT 1 FROM records WHERE user_key = u.key)
    OR EXISTS (SELECT 1 FROM conversations WHERE user_key = u.key AND deleted_at IS NULL))
ORDER BY name
"""
# Another may have registered the user just before, where writers of different users do not wait.
REGISTER = """
INSERT INTO users (name) VALUES (:name)
ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING key
"""
# The key of a user who has nothing.
NOBODY = 0
KNOWN_USER = "SELECT key, deletions, deleted, name FROM users WHERE name = :name"
USER_AND_TEXT = """
SELECT key, deletions, deleted, name, EXISTS (
    SELECT 1 FROM records r WHERE r.user_key = users.key AND r.content_hash = :hash)
FROM users WHERE name = :name
"""
ERASED_USER = "SELECT key, deletions, deleted, name FROM users WHERE digest = :digest"
RETURN = "UPDATE users SET name = :name, deleted = 0 WHERE key = :user"
# What a user begins with, and what changes nothing where nothing is.
FIRST_ACTIONS = (act.Insert, act.PutItem, act.OpenConversation)
DERIVING_ACTIONS = (act.PutVectors, act.LinkEntities)
QUEUE_ALL = """
INSERT INTO derivations (work, record_key, user_key)
SELECT CAST(:work AS text), key, user_key FROM records WHERE indexed = 1
ON CONFLICT DO NOTHING
"""
RELEASE_ALL = "UPDATE derivations SET claimed_until = 0 WHERE work = :work"
TO_EMBED = """
SELECT r.id, r.key, r.content_hash, v.embedding FROM records r
LEFT JOIN vectors v ON v.record_key = r.key
WHERE r.user_key = :user AND r.indexed = 1 AND r.id IN (@texts(:ids))
"""
NEXT_VECTORS = """
UPDATE users SET vector_seq = vector_seq + :count WHERE key = :user RETURNING vector_seq
"""
ADD_VECTOR = """
INSERT INTO vectors (user_key, seq, record_key, embedding)
VALUES (:user, :seq, :record, :blob)
"""
ADD_TOKENS = """
INSERT INTO token_vectors (record_key, user_key, size, tokens)
VALUES (:record, :user, :size, :blob)
"""


def drop_vectors(connection: SqlConnection, model: str, dimensions: int) -> None:
    """Drop all vectors, name the model and queue every record."""
    connection.drop_indexed_vectors()
    for table in VECTOR_TABLES:
        connection.run(f"DELETE FROM {table}")
    connection.run(f"UPDATE users SET {NEXT_EPOCH}, vector_seq = 0")
    for name, value in ((MODEL, model), (DIMENSIONS, str(dimensions))):
        connection.run(SET_META, {"name": name, "value": value})
    for sql in (RELEASE_ALL, QUEUE_ALL):
        connection.run(sql, {"work": VECTORS})


def put_vectors(tx: Transaction, action: act.PutVectors) -> None:
    """Store the embeddings of records and take them off the queue."""
    model, dimensions = vector_model(tx.connection) or (None, 0)
    if model != action.model:
        message = f"the vectors of this store are of {model!r}, not of {action.model!r}"
        raise InvalidInput(message)
    for record, vector in action.vectors.items():
        if vector.shape != (dimensions,):
            message = f"the vector of {record!r} has shape {vector.shape}, not ({dimensions},)"
            raise InvalidInput(message)
    asked = {"user": tx.user, "ids": dump(list(action.vectors))}
    found = {row[0]: row[1:] for row in tx.connection.all(TO_EMBED, asked)}
    made: dict[int, bytes] = {}
    new: dict[int, bytes] = {}
    tokens: list[tuple[int, int, int, bytes]] = []
    for record, vector in action.vectors.items():
        key, content, held = found.get(record, (None, None, None))
        if key is None or action.hashes.get(record, content) != content:
            continue
        made[key] = vector.astype(STORED_FLOAT).tobytes()
        # Two processes may have made the same one: readers need not read it twice.
        if held != made[key]:
            new[key] = made[key]
        rows = action.tokens.get(record)
        if rows is not None and len(rows):
            tokens.append((key, tx.user, rows.shape[1], rows.astype(np.int8).tobytes()))
    tx.drop("vectors", new)
    if new:
        counted = {"user": tx.user, "count": len(new)}
        first = tx.connection.value(NEXT_VECTORS, counted) - len(new) + 1
        numbered = enumerate(new.items(), first)
        tx.connection.run_many(ADD_VECTOR, [(tx.user, seq, *each) for seq, each in numbered])
    tx.drop("token_vectors", made)
    tx.connection.run_many(ADD_TOKENS, tokens)
    tx.drop("derivations", made, VECTORS)
    tx.connection.index_vectors(tx.user, made)


CARRY_OUT: dict[type[Action], Callable[[Transaction, Any], act.Outcome | None]] = {
    act.KeepUserMetadata: traces.keep_user_metadata,
    act.OpenConversation: conversation_actions.open_conversation,
    act.ReplaceMessages: conversation_actions.replace_messages,
    act.KeepTombstone: conversation_actions.keep_tombstone,
    act.Pin: conversation_actions.pin,
    act.Prune: conversation_actions.prune,
    act.Recount: conversation_actions.recount,
    act.UpdateConversation: conversation_actions.update_conversation,
    act.Summarize: conversation_actions.summarize,
    act.Close: record_actions.close,
    act.AdvanceSession: record_actions.advance_session,
    act.CountTry: record_actions.count_try,
    act.Reinforce: record_actions.reinforce,
    act.KeepNameDecision: record_actions.decide,
    act.Enrich: record_actions.enrich,
    act.Fade: record_actions.fade,
    act.KeepNotes: record_actions.keep_notes,
    act.LinkEntities: record_actions.link_entities,
    act.MergeEntities: record_actions.merge_entities,
    act.AdvanceNotes: record_actions.advance_notes,
    act.PutVectors: put_vectors,
    act.Retire: record_actions.retire,
    act.Reweigh: record_actions.reweigh,
    act.Spend: record_actions.spend,
    act.SplitEntity: record_actions.split_entity,
    act.Supersede: record_actions.supersede,
    act.Touch: record_actions.touch,
    act.UpdateRecord: record_actions.update,
    act.PutItem: record_actions.put_item,
    act.Forget: erasing.forget,
    act.Erase: erasing.erase,
    act.Redact: redacting.redact,
    act.DeleteConversation: erasing.delete_conversation,
    act.DeleteUser: erasing.delete_user,
}
# Those that follow each other, each statement once for all of them.
CARRY_OUT_TOGETHER: dict[type[Action], Callable[[Transaction, Any], Sequence[act.Outcome]]] = {
    act.Append: conversation_actions.append,
    act.Insert: record_actions.insert,
}


class KnownUser(NamedTuple):
    """What a store knows of a user."""

    key: int
    deletions: int
    deleted: int
    name: str | None
    has_text: bool = True


def _known_user(
    connection: SqlConnection, scope: Scope, rows: Sequence[Row | None] | None = None
) -> KnownUser:
    """Return the user of a scope; raise ``UserDeleted`` if it was deleted since that was opened.

    Args:
        connection: an open one.
        scope: of the user.
        rows: what was found of the user, where that was asked for before.
    """
    found = connection.rows(KNOWN_USER, {"name": scope.user}) if rows is None else rows
    row = next(iter(found), None)
    if row is None:  # Erased, or never there.
        row = connection.one(ERASED_USER, {"digest": name_digest(scope.user)})
    known = KnownUser(NOBODY, 0, 0, None) if row is None else KnownUser(*row)
    if scope.deletions not in {None, known.deletions}:
        message = f"the user {scope.user!r} was deleted; open the memory again to begin anew"
        raise UserDeleted(message)
    return known


def _registered(
    connection: SqlConnection, scope: Scope, actions: Sequence[Action], found: Sequence[Row | None]
) -> KnownUser:
    """Return the user of whom actions are, who may be new or begin anew.

    ``NOBODY``, if that is a user of whom there is nothing, and nothing is stored.

    Args:
        connection: an open transaction.
        scope: of the user.
        actions: what is to be done.
        found: what ``USER_AND_TEXT`` found, for the text of the only record.
    """
    known = _known_user(connection, scope, found)
    if known.name is not None and not known.deleted:
        return known if len(actions) == 1 else known._replace(has_text=True)
    if any(isinstance(each, act.DeleteUser) for each in actions) and known.name is None:
        raise NotFound(f"there is no user {scope.user!r}")
    if known.key == NOBODY:
        if all(isinstance(each, DERIVING_ACTIONS) for each in actions):
            return known
        known = known._replace(key=connection.value(REGISTER, {"name": scope.user}))
    if known.deleted and any(isinstance(each, FIRST_ACTIONS) for each in actions):
        connection.run(RETURN, {"name": scope.user, "user": known.key})
    return known


def _outcomes(tx: Transaction, actions: Sequence[Action]) -> list[act.Outcome]:
    """Carry out actions; return what came of them."""
    done: list[act.Outcome] = []
    for kind, group in groupby(actions, type):
        if kind in CARRY_OUT_TOGETHER:
            done += CARRY_OUT_TOGETHER[kind](tx, list(group))
            continue
        for action in group:
            if kind not in CARRY_OUT:
                message = f"not an action: {action!r}"
                raise InvalidInput(message)
            outcome = CARRY_OUT[kind](tx, action)
            if outcome is not None:
                done.append(outcome)
    return done


class SqlStore(SqlClaims, TransferReads):
    """What a store does beside reading, over transactions that are given by whoever has them."""

    _analyzer: Analyzer
    full_text: FullText

    @property
    def adoptable(self) -> Path | None:
        """Return nothing: no other program writes memories into an SQL database."""
        return None

    def finish_adoption(self) -> int:
        """Return that there was nothing to adopt."""
        return 0

    def _user_key(self, connection: SqlConnection, scope: Scope) -> int:
        """Return the number of the scope's user; ``NOBODY`` where there is none."""
        return _known_user(connection, scope).key

    def scope(self, user: str, agent: str | None = None) -> Scope:
        """Return the scope of a user as it is now."""
        scope = Scope(user, agent)
        with self._reading(scope) as (connection, _):
            return replace(scope, deletions=_known_user(connection, scope).deletions)

    def apply(
        self, scope: Scope, actions: Sequence[Action], *, patience: float | None = None
    ) -> list[act.Outcome]:
        """Carry out ``actions`` in one transaction; return what came of them."""
        if not actions:
            return []
        return self._write(scope, partial(self._carry_out, scope=scope, actions=actions), patience)

    def _carry_out(
        self, connection: SqlConnection, scope: Scope, actions: Sequence[Action]
    ) -> list[act.Outcome]:
        """Carry out ``actions`` in an open transaction; return what came of them."""
        only = actions[0] if len(actions) == 1 else None
        text = only.record.content_hash if isinstance(only, act.Insert) else None
        found = connection.rows(USER_AND_TEXT, {"name": scope.user, "hash": text})
        user = _registered(connection, scope, actions, found)
        if user.key == NOBODY:
            return []
        made_by = self._analyzer, self.names, self.full_text
        tx = Transaction(connection, scope, user.key, user.has_text, *made_by)
        return _outcomes(tx, actions)

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors, name the model and queue every record; return how many."""
        self._name_model(model, dimensions)
        return sum(
            self.count(None, Filter.at_any_time(kinds=tuple(Kind), waiting=VECTORS)).values()
        )

    def index_large_users(self) -> int:
        """Return that no user is too large for memory."""
        return 0

    def _name_model(self, model: str, dimensions: int) -> None:
        """Drop all vectors, name the model and queue every record."""
        self._write(None, lambda connection: drop_vectors(connection, model, dimensions))

    def match_terms(
        self, scope: Scope, terms: Sequence[str], *, limit: int, items: bool = False
    ) -> TermMatches:
        """Return which records hold which terms."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            postings = self.full_text.postings(connection, user, indexed(terms, items=items))
            return match_postings(terms, postings, limit)


class DatabaseStore(Database[C], SqlStore):
    """Implements :class:`memoranda.model.ports.Store` on a database that holds all users.

    Attributes:
        details: how it does what memoranda needs, by the names of capabilities.
    """

    details: ClassVar[Mapping[str, str]]

    def _begin_with(self, analyzer: Analyzer, names: NameMatcher) -> None:
        """Index everything anew, where another analyzer made the index.

        Args:
            analyzer: makes the terms of the full-text index.
            names: decides which names are one entity.
        """
        self._analyzer, self.names = analyzer, names
        try:
            health.follow_analyzer(self, analyzer)
        except BaseException:
            with suppress(StoreError):
                self.close()
            raise

    @contextmanager
    def _reading(self, scope: Scope | None) -> Iterator[tuple[SqlConnection, int]]:
        with self.read() as connection:
            known = self.known
            if scope is not None and scope not in known:
                known[scope] = self._user_key(connection, scope)
            yield connection, NOBODY if scope is None else known[scope]

    def _write(
        self, scope: Scope | None, work: Callable[[SqlConnection], T], patience: float | None = None
    ) -> T:
        del scope
        with self.write(patience) as connection:
            return work(connection)

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what the database does by itself: all but finding the nearest vectors."""
        return tuple(Capability(name, name != NEAREST, self.details[name]) for name in NAMES)

    def users(self) -> list[str]:
        """Return every user."""
        with self.read() as connection:
            return [row[0] for row in connection.all(USERS)]

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return health.verify(self)

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive index, links and queues anew; return what was different."""
        return health.rebuild(self, self._analyzer, self.names, extractor)


def match_postings(terms: Sequence[str], postings: Sequence[Postings], limit: int) -> TermMatches:
    """Return which records hold which terms; those of the rarer ones, where they are too many."""
    keys, counts = join_postings(terms, postings, limit)
    return TermMatches(keys.tolist(), counts, [len(each.keys) for each in postings])


def join_postings(
    terms: Sequence[str], postings: Sequence[Postings], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the keys of records that hold terms, ascending, and how often each holds which.

    Args:
        terms: what is asked for.
        postings: of each.
        limit: how many records at most, those of the rarer terms first.
    """
    rarest_first = sorted(
        zip(postings, terms, strict=True), key=lambda each: (len(each[0].keys), each[1])
    )
    found = np.array([], np.int64)
    for (keys, _), _ in rarest_first:
        if len(found) == limit:
            break
        more = np.setdiff1d(keys, found, assume_unique=True)
        found = np.concatenate([found, more[: limit - len(found)]])
    found.sort()
    counts = np.zeros((len(found), len(terms)), np.uint8)
    for column, (keys, times) in enumerate(postings):
        if len(keys):
            places = np.searchsorted(keys, found)
            held = np.take(keys, places, mode="clip") == found
            counts[held, column] = np.minimum(times[places[held]], MOST_COUNTED)
    return found, counts
