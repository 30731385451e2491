"""The verbs by which a memory learns and keeps true what it learned."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memoranda.errors import InvalidInput, NotFound
from memoranda.learning.stages import STAGES
from memoranda.maintenance import auditing
from memoranda.maintenance.audit import Audit
from memoranda.maintenance.run import Stages
from memoranda.memory_upkeep import Upkeep
from memoranda.model.actions import MergeEntities, SplitEntity
from memoranda.model.checks import named
from memoranda.model.life import SessionInfo, StageUsage
from memoranda.model.models import Entity
from memoranda.model.reports import MaintenanceReport, StageReport
from memoranda.model.text import clean
from memoranda.parts import Parts
from memoranda.tools import Tool
from memoranda.tools.consolidator import ConsolidatorTools


class Learning(Upkeep):
    """The part of :class:`memoranda.Memory` that turns what was said into what is known."""

    _parts: Parts

    def consolidate(self, session: str | None = None, *, dry_run: bool = False) -> StageReport:
        """Turn what was said in sessions into facts; report what was done.

        Facts that are said again credit the ones that are there; what contradicts them, or
        brings a new value, supersedes them. A crash at any point loses and doubles nothing.

        Args:
            session: only this one; all that wait, if not given.
            dry_run: change nothing, and report what would be done.

        Raises:
            NotFound: there is no such session.
        """
        return self._stages().consolidate(named(session, "session"), dry_run=dry_run)

    def expire(self, *, dry_run: bool = False) -> StageReport:
        """Retire what is past its retention; ``count`` says how many records."""
        return self._stages().expire(dry_run=dry_run)

    def decay(self, *, dry_run: bool = False) -> StageReport:
        """Let facts fade that nobody asked for; retire those below ``decay.threshold``.

        Confidence is computed from what it was when the fact was last said or recalled, so
        doing this twice changes nothing.
        """
        return self._stages().decay(dry_run=dry_run)

    def enrich(self, *, dry_run: bool = False) -> StageReport:
        """Find names anew, accurately, in records with few of them (seed 004).

        Skipped where neither a spaCy pipeline nor a language model is set up.
        """
        return self._stages().enrich(dry_run=dry_run)

    def reflect(self, *, dry_run: bool = False) -> StageReport:
        """Write the weekly insight, if one is due and there is something to say."""
        return self._stages().reflect(dry_run=dry_run)

    def maintain(
        self, stages: Iterable[str] | None = None, *, dry_run: bool = False
    ) -> MaintenanceReport:
        """Run all stages of upkeep, or some, in the order of a night.

        Args:
            stages: of ``expire``, ``enrich``, ``consolidate``, ``decay`` and ``reflect``.
            dry_run: change nothing, and report what would be done.

        Raises:
            InvalidInput: there is no such stage.
        """
        wanted = STAGES if stages is None else tuple(stages)
        for name in wanted:
            if name not in STAGES:
                message = f"stage={name!r:.80} does not exist; use {', '.join(STAGES)}"
                raise InvalidInput(message)
        return MaintenanceReport(
            stages=tuple(
                self._stages().run(name, dry_run=dry_run) for name in STAGES if name in wanted
            )
        )

    def sessions(self, *, pending: bool = False) -> list[SessionInfo]:
        """Return the sessions and how far they became facts; only those that wait, if asked."""
        return self._parts.store.sessions(self._scope, pending=pending)

    def usage(self) -> list[StageUsage]:
        """Return what the stages have used of language models, by stage and model."""
        return self._parts.store.usage(self._scope)

    def merge_entities(self, name: str, other: str) -> Entity:
        """Make two entities one, which keeps the name of the first; return it.

        For good: what is said later under any of their names belongs to it.

        Raises:
            NotFound: there is no entity of one of these names.
            InvalidInput: they are one already.
        """
        first, second = self._entity(name), self._entity(other)
        self._parts.store.apply(self._scope, [MergeEntities(first.id, second.id)])
        self._parts.retriever.forget()
        return self._entity(name)

    def split_entity(self, name: str, alias: str) -> Entity:
        """Make an alias of an entity an entity of its own, for good; return the new one.

        Raises:
            NotFound: there is no such entity.
            InvalidInput: it has no such alias.
        """
        found = self._entity(name)
        self._parts.store.apply(self._scope, [SplitEntity(found.id, clean(alias, "alias"))])
        self._parts.retriever.forget()
        return self._entity(alias)

    def _entity(self, name: str) -> Entity:
        found = self._parts.store.entity(self._scope, clean(name, "name"), self._where())
        if found is None:
            message = f"there is no entity {name!r} for user {self._scope.user!r}"
            raise NotFound(message)
        return found

    def audit(self, path: str | Path | None = None) -> Audit:
        """Look for junk: duplicates, contradictions, loops, secrets and more; change nothing.

        Args:
            path: look at this file instead: a MEMORY.md, or a JSON list of memories.

        Raises:
            InvalidInput: the file cannot be read, or holds no memories.
        """
        if path is not None:
            return auditing.of_file(Path(path), self._parts.now())
        return auditing.of_memory(self._parts, self._scope)

    def consolidator_tools(self) -> list[Tool]:
        """Return the tools by which an agent of your own consolidates (seed 004).

        For a model that reads sessions and writes facts; not for the agent that talks.
        """
        return ConsolidatorTools(self._parts, self._scope).tools()

    def _stages(self) -> Stages:
        return Stages(self._parts, self._scope)
