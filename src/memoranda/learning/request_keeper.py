"""Carries out at once what a person asks of memory in the message that they have just sent.

What it stores is what consolidation would: that finds it there, and stores nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.facts.requests import find_memory_change
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.consolidation_queue import ConsolidationRequest
from memoranda.learning.consolidator import Consolidator
from memoranda.learning.exclusions import blank_exclusions
from memoranda.learning.memory_changer import MemoryChanger
from memoranda.learning.sentences import english
from memoranda.model.changes import Close, Insert, RecordChange
from memoranda.model.models import ROLES, Message, Record
from memoranda.model.reports import RequestOutcome, RequestReceipt, StageReport

log = logging.getLogger("memoranda.requests")


@dataclass(frozen=True, slots=True)
class RequestKeeper:
    """Keeps, forgets and corrects what messages ask to be, and keeps or ends instructions.

    Attributes:
        consolidator: reads the messages, and plans what is stored.
    """

    consolidator: Consolidator

    def keep(self, session: str, messages: Sequence[Message]) -> list[RequestReceipt]:
        """Carry out the requests of stored messages; return what became of each.

        Where that fails the session's consolidation does it later.
        """
        receipts: list[RequestReceipt] = []
        for message in messages:
            try:
                receipts += self._keep(session, message)
            except StoreClosed:
                raise
            except MemorandaError as error:
                log.warning("a request waits for the end of its session: %s", error)
        return receipts

    def read_claims(self, session: str, message: Message) -> list[Claim]:
        """Return what the rules read in a stored message, as consolidation would; store nothing."""
        if (episode := self._episode(message)) is None:
            return []
        before, turn = self._read_turn(session, episode)
        return self.consolidator.rules.read([turn], before=before).claims

    def plan(self, session: str) -> StageReport:
        """Return what the rules would learn of a session now; no model is asked, nothing stored."""
        settings, scope = self.consolidator.settings, self.consolidator.records.scope
        if settings.extractor != "none":
            settings = settings.model_copy(update={"extractor": "rules"})
        reader = replace(self.consolidator, settings=settings)
        return reader.run(ConsolidationRequest(scope, session=session), dry_run=True)

    def change_told(self, message: Message, told: str) -> list[RequestReceipt]:
        """Forget or correct what was told or said just before, where a message points back to it.

        Args:
            message: a stored message.
            told: the record that was told, or the message before.
        """
        change = find_memory_change(message.content)
        if change is None or change.about or (episode := self._episode(message)) is None:
            return []
        return MemoryChanger(self.consolidator.records).carry_out(change, episode, told=told)

    def forget_excluded(self, session: str, message: Message) -> None:
        """Forget what is never learned because of a message, so that it answers nothing, either.

        It asks not to keep itself or what was said before, takes that back, or is played.
        """
        episode, records = self._episode(message), self.consolidator.records
        if episode is None:
            return
        before, turn = self._read_turn(session, episode)
        turns = [*before, turn]
        pairs = zip(turns, blank_exclusions(turns), strict=True)
        gone = [old for old, new in pairs if old.text.strip() and not new.text.strip()]
        # Who asks that nobody else be told may ask for it; and a role lasts by the request for it.
        kept = [english(name) for name in ("discreet", "role_begins", "role_ends")]
        ids = [each.id for each in gone if not any(form.search(each.text) for form in kept)]
        if ids:
            records.forget([*ids, *records.store.learned_from(records.scope, ids)])

    def _episode(self, message: Message) -> Record | None:
        records, episode = self.consolidator.records, message.record_id or ""
        return records.store.get(records.scope, [episode]).get(episode)

    def _read_turn(self, session: str, episode: Record) -> tuple[list[Turn], Turn]:
        """Return the turns before an episode that help to understand it, and its own."""
        before, [turn] = self.consolidator.read_turns(session, [episode])
        return [each for each in before if each.agent in {None, turn.agent}], turn

    def _keep(self, session: str, message: Message) -> Iterator[RequestReceipt]:
        consolidator, records = self.consolidator, self.consolidator.records
        if (episode := self._episode(message)) is None:
            return
        before, turn = self._read_turn(session, episode)
        change = find_memory_change(turn.text) if turn.speaker in ROLES else None
        done = change and MemoryChanger(records).carry_out(change, episode)
        if done:
            yield from done
            return
        claims, refused = consolidator.rules.read_requests(turn, before=before)
        scope = replace(records.scope, agent=turn.agent)
        actions = consolidator.plan(session, claims, scope=scope, approved=True)
        ending = [each.id for each in actions if isinstance(each, Close)]
        ended = records.store.get(records.scope, ending)
        records.apply(actions)
        yield from _receipts(claims, actions)
        for old in ended.values():
            yield RequestReceipt(RequestOutcome.ENDED, old.content, old.id)
        for each in refused:
            yield RequestReceipt(RequestOutcome.REFUSED, each.content, None, each.because)


def _receipts(claims: Sequence[Claim], actions: Sequence[RecordChange]) -> Iterator[RequestReceipt]:
    stored = {each.record.content: each.record.id for each in actions if isinstance(each, Insert)}
    for claim in claims:
        taken_back = claim.fact is not None and claim.fact.takes_back
        if claim.content in stored or not taken_back:
            stored_as = stored.get(claim.content)
            yield RequestReceipt(RequestOutcome.REMEMBERED, claim.content, stored_as)
