"""Removes records for good with every trace of their text; deletes conversations and users.

What repeats an erased text is replaced whole by ``[erased]``: a record, a message, a system prompt,
the summaries of a pruning.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from memoranda.errors import NotFound
from memoranda.model.checks import content_hash, to_ms
from memoranda.model.erasure import ERASED
from memoranda.model.models import ChangeAction, ForgetReceipt, Kind, Message, PlaceKind, TextPlace
from memoranda.model.query import RecordRelation
from memoranda.model.replacements import Replacement
from memoranda.store.sql import rows
from memoranda.store.sql.conversation_writes import ConversationWrites
from memoranda.store.sql.database import user_tables
from memoranda.store.sql.entities import FORGET_GIVEN_NAMES
from memoranda.store.sql.record_writes import TargetRecord, name_digest
from memoranda.store.sql.rows import dump

CITING = """
SELECT r.key, r.source_ids FROM records r WHERE r.user_key = :user AND r.key IN (
    SELECT record_key FROM record_sources
    WHERE user_key = :user AND source_id IN (@texts(:ids)))
"""
# With an answer goes the reasoning just before it. Where a message has expired, all go that have no
# record of their own (a picture, a call), as of these it is not known when they expire.
MESSAGES = """
DELETE FROM messages WHERE user_key = :user AND conversation_key IN (
    SELECT conversation_key FROM messages
    WHERE user_key = :user AND record_id IN (@texts(:records)))
AND (record_id IS NOT NULL OR :expired = 1 AND role <> 'system'
    OR role = 'assistant' AND raw IS NOT NULL AND content = '' AND tool_calls = '[]') AND (
    SELECT CASE WHEN n.role = messages.role OR :expired = 1 THEN n.record_id END FROM messages n
    WHERE n.user_key = :user AND n.conversation_key = messages.conversation_key
        AND n.tombstone_key IS NOT DISTINCT FROM messages.tombstone_key
        AND n.position >= messages.position
        AND (n.record_id IS NOT NULL OR :expired = 0 AND n.tool_calls <> '[]')
    ORDER BY n.position LIMIT 1) IN (SELECT value FROM (@texts(:records)) r)
RETURNING conversation_key, position
"""
DELETE = "DELETE FROM records WHERE user_key = :user AND key IN (@ints(:keys))"
# What was only believed less stands behind nothing now; what was closed stays so.
FORGET_REPLACEMENTS = """
UPDATE records SET superseded_by = NULL WHERE user_key = :user AND closed_at IS NULL
    AND superseded_by IN (@texts(:ids))
"""
FORGET_SESSIONS = """
DELETE FROM sessions WHERE user_key = :user AND NOT EXISTS (
    SELECT 1 FROM records r WHERE r.user_key = :user AND r.session_id = sessions.session_id
    AND r.kind = 'episode' AND coalesce(r.agent, '') = sessions.agent)
"""
FORGET_SOURCES = """
DELETE FROM record_sources WHERE user_key = :user AND source_id IN (@texts(:ids))
"""
FORGET_HISTORY = "DELETE FROM history WHERE user_key = :user AND record_id IN (@texts(:ids))"
FORGET_TRACES = (
    *(DELETE, FORGET_HISTORY, FORGET_SOURCES),
    *(FORGET_GIVEN_NAMES, FORGET_REPLACEMENTS, FORGET_SESSIONS),
)
# What is said in them later is new.
DROP_SESSIONS = "DELETE FROM sessions WHERE user_key = :user"
EPISODES = """
SELECT id FROM records WHERE user_key = :user AND kind = 'episode' AND (session_id = :session
    OR id IN (SELECT record_id FROM messages m
        WHERE m.user_key = :user AND conversation_key = :key))
ORDER BY key
"""
FORGET_RECALLS = "DELETE FROM recalls WHERE user_key = :user AND session_id = :session"
# Of facts that another conversation tells, too: an id is often a title.
FORGET_CONVERSATION = """
UPDATE records SET session_id = NULL, revised = :revision
WHERE user_key = :user AND session_id = :session
"""
REMOVE_CONVERSATION = "DELETE FROM conversations WHERE user_key = :user AND key = :key"
CITE = "UPDATE records SET source_ids = :sources WHERE user_key = :user AND key = :key"
COUNT_CONVERSATIONS = """
SELECT CAST(coalesce(sum(message_count), 0) AS bigint), count(*)
FROM conversations WHERE user_key = :user
"""
HIDE_CONVERSATIONS = """
UPDATE conversations SET deleted_at = :at, ended_at = coalesce(ended_at, :at),
    cleared_through = next_position - 1, revision = revision + 1
WHERE user_key = :user AND deleted_at IS NULL
"""
RECORDS = "SELECT key, id FROM records WHERE user_key = :user"
FORGET_NAME = "UPDATE users SET name = NULL, digest = :digest WHERE key = :user"
FORGET_LEASES = """
DELETE FROM leases WHERE substr(name, length(name) - length(:name)) = ':' || :name
    OR substr(name, 1, length(:name) + 9) = 'reflect:' || :name || ':'
"""
DROP_TOKENS = "DELETE FROM tokens WHERE user_key = :user"
MARK_DELETED = "UPDATE users SET deleted = 1, deletions = deletions + 1 WHERE key = :user"
OF_CONVERSATION = "SELECT key FROM conversations WHERE user_key = :user AND id = :id"
CHANGED = ("content", "task", "tool_calls", "images", "raw", "tokens")
CHANGE_MESSAGE = f"""
UPDATE messages SET {", ".join(f"{each} = :{each}" for each in CHANGED)}
WHERE user_key = :user AND id = :id AND (content <> :content OR task IS NOT NULL OR raw IS NOT NULL
    OR images <> :images OR tool_calls <> :tool_calls) RETURNING conversation_key, position
"""
SET_SYSTEM = """
UPDATE conversations SET system = :text, revision = revision + 1
WHERE user_key = :user AND id = :id AND system IS NOT NULL AND system <> :text
"""
# Nothing is derived from it again: it is as what was retired.
CHANGE_RECORD = """
UPDATE records SET content = :content, content_hash = :hash, term_count = :terms, indexed = 0,
    tags = '[]', metadata = '{}', subject = NULL, attribute = NULL, value = NULL,
    revised = :revision
WHERE user_key = :user AND id = :id AND content_hash <> :hash RETURNING key, id, agent, kind
"""


class ErasingWrites(ConversationWrites):
    """Forgets and erases what a user has, in an open transaction."""

    def forget(
        self, ids: Sequence[str], *, at: datetime, reason: str, superseded_by: str | None = None
    ) -> ForgetReceipt:
        """End the validity of records that the scope may see, in all versions, and of former ones.

        What was only believed less for one of them would be believed again.
        """
        self.targets(ids)  # Each is there.
        versions = self.related(self.scope, ids, RecordRelation.VERSIONS)
        versions += self.related(self.scope, [*ids, *versions], RecordRelation.FORMER)
        every = [*ids, *versions]
        self.end(every, at, reason, by=superseded_by)
        return ForgetReceipt(
            id=next(iter(ids), ""), records=len(every), versions=tuple(versions), erased=False
        )

    def erase(
        self, ids: Sequence[str], *, at: datetime, reason: str, copies: Sequence[str] = ()
    ) -> ForgetReceipt:
        """Remove records with their other versions, what was derived from these, and copies.

        By any agent of the user: the text is gone for good, or it is not. What was believed less
        for one of them ends as in :meth:`forget`.
        """
        self.targets(ids)  # Each is there.
        scope = self.scope.whole_user
        versions = self.related(scope, ids, RecordRelation.VERSIONS)
        known = [*ids, *versions]
        alike = [each for each in self.get(scope, copies) if each not in known]
        spoken = [*known, *alike]
        derived = self.related(scope, spoken, RecordRelation.DERIVED)
        every = [*spoken, *derived]
        former = self.related(scope, known, RecordRelation.FORMER)
        messages = self._remove(every, at, reason)
        self.end([each for each in former if each not in every], at, reason)
        return ForgetReceipt(
            id=next(iter(ids), ""),
            erased=True,
            records=len(every),
            versions=tuple(versions),
            copies=tuple(alike),
            derived=tuple(derived),
            messages=messages,
        )

    def remove(self, ids: Sequence[str], *, at: datetime, reason: str) -> None:
        """Remove records for good with their messages; what was learned from them stays.

        What is gone already is passed over.
        """
        found = [*self.get(self.scope, ids)]
        if found:
            self._remove(found, at, reason, expired=True)

    def delete_conversation(self, id: str, *, at: datetime, erase: bool) -> ForgetReceipt:
        """Take a conversation off every list; remove it for good where that is wanted."""
        values = {"key": self.conversation(id, deleted=erase), "session": id, "at": to_ms(at)}
        episodes = self.column(EPISODES, **values)
        learned = self.learned_from(self.scope.whole_user, episodes)
        every = [*episodes, *learned]
        messages, _ = self.all(f"{COUNT_CONVERSATIONS} AND key = :key", **values)[0]
        for sql in (FORGET_RECALLS, f"{DROP_SESSIONS} AND session_id = :session"):
            self.run(sql, **values)
        if erase:
            self.run(REMOVE_CONVERSATION, **values)
            self._remove(every, at, "conversation deleted")
            self.run(FORGET_CONVERSATION, **values)
        else:
            every = self.end(every, at, "conversation deleted")
            self.run(f"{HIDE_CONVERSATIONS} AND key = :key", **values)
        derived = tuple(id_ for id_ in every if id_ not in set(episodes))
        return ForgetReceipt(
            id=id,
            erased=erase,
            records=len(every),
            derived=derived,
            messages=messages,
            conversations=1,
        )

    def delete_user(self, *, at: datetime, erase: bool) -> ForgetReceipt:
        """Take a user off every list; remove every row of theirs where that is wanted."""
        name = self.scope.user
        if self.state.name is None:
            raise NotFound(f"there is no user {name!r}")
        held: dict[int, str] = dict(self.all(RECORDS))
        records = len(held)
        messages, conversations = self.all(COUNT_CONVERSATIONS)[0]
        if erase:
            self.full_text.remove(self.connection, self.user, [*held])
            self.connection.keep_last_key()
            tables = (f"DELETE FROM {each} WHERE user_key = :user" for each in user_tables()[::-1])
            for sql in (*tables, FORGET_NAME, FORGET_LEASES):
                self.run(sql, name=name, digest=name_digest(name))
            self.ask_for_purge()
        else:
            records = len(self.end([*held.values()], at, "user deleted"))
            for sql in (HIDE_CONVERSATIONS, DROP_SESSIONS, DROP_TOKENS):
                self.run(sql, at=to_ms(at))
        self.run(MARK_DELETED)
        self.removes_rows = self.changes_facts = True
        return ForgetReceipt(
            id=name, erased=erase, records=records, messages=messages, conversations=conversations
        )

    def _remove(
        self, ids: Sequence[str], at: datetime, reason: str, *, expired: bool = False
    ) -> int:
        """Remove these records with every trace of their texts; return how many messages went."""
        targets = replace(self, scope=self.scope.whole_user).targets(ids)
        keys = [target.key for target in targets]
        self.removes_rows = self.changes_facts = True
        gone: defaultdict[int, list[int]] = defaultdict(list)
        messages = self.all(MESSAGES, records=dump(ids), expired=int(expired))
        for conversation, position in sorted(messages):
            if position >= 0:  # Those that were removed before go, too.
                gone[conversation].append(position)
        for conversation, positions in gone.items():
            self.recount_messages(conversation, -len(positions))
            self.change_spans(conversation, Replacement(positions))
        self.full_text.remove(self.connection, self.user, keys)
        values = {"ids": dump(ids), "keys": dump(keys)}
        self.connection.keep_last_key()
        self.drop_derived(keys)
        for key, text in self.all(CITING, **values):
            left = [each for each in json.loads(text) if each not in {*ids}]
            self.run(CITE, key=key, sources=dump(left))
        for sql in FORGET_TRACES:
            self.run(sql, **values)
        self.log(targets, at, ChangeAction.ERASE, reason)
        # The digests of their lines in `notes_bases` stay: by these the caller knows the lines in
        # MEMORY.md, which without them would be read back as additions of a person. It cleans the
        # file and replaces the base right after; or the next synchronization does.
        self.ask_for_purge()
        return len(messages)

    def redact(
        self,
        places: Iterable[TextPlace],
        *,
        at: datetime,
        reason: str,
        messages: Mapping[str, Message],
    ) -> tuple[TextPlace, ...]:
        """Put ``[erased]`` in these places, and drop what was derived from their texts.

        Args:
            places: those of which everything goes; what is not there is passed over.
            at: when.
            reason: why, for the history of records.
            messages: what is left of each message, by its id.

        Returns:
            The places that were changed.
        """
        redact: dict[PlaceKind, Callable[[TextPlace], bool]] = {
            PlaceKind.RECORD: partial(self._redact_record, at=at, reason=reason),
            PlaceKind.MESSAGE: lambda place: self._redact_message(messages[place.id]),
            PlaceKind.SYSTEM: lambda place: self.change(SET_SYSTEM, id=place.id, text=ERASED) > 0,
            PlaceKind.SUMMARY: self._redact_summaries,
        }
        changed = tuple(place for place in places if redact[place.kind](place))
        if changed:
            self.ask_for_purge()
        return changed

    def _redact_record(self, place: TextPlace, *, at: datetime, reason: str) -> bool:
        text = {"content": ERASED, "hash": content_hash(ERASED)}
        count = len(self.analyzer.terms(ERASED))
        changed = self.all(CHANGE_RECORD, id=place.id, terms=count, **text)
        for target in map(TargetRecord._make, changed):
            self.index_text(target.key, ERASED, items=target.kind == Kind.ITEM)
            self.drop_derived([target.key])
            self.log([target], at, ChangeAction.ERASE, reason)
        return bool(changed)

    def _redact_message(self, left: Message) -> bool:
        stored = rows.MESSAGES.values(left)
        found = self.all(CHANGE_MESSAGE, id=left.id, **{name: stored[name] for name in CHANGED})
        for conversation, position in found:
            # Whatever summarises it may quote it.
            self.change_spans(conversation, Replacement([position]))
            self.revise(conversation)
        return bool(found)

    def _redact_summaries(self, place: TextPlace) -> bool:
        """Tear all spans of a pruning, so that nobody makes their summaries again."""
        conversation = self.value(OF_CONVERSATION, id=place.conversation)
        values = {"conversation": conversation, "id": place.id}
        return self.change_cuts(values, "id = :id", lambda cuts: tuple(cut.tear() for cut in cuts))
