"""The doctor: says whether a memory and the machine it is on are well, and what to do if not.

An arm that silently finds nothing is the fault users notice last. So each arm has to find
a canary: a record planted for it in a memory of its own, made with the same settings and
the same model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memoranda.derivations import DerivationWorker
from memoranda.entities.pipeline import FAST, EntityPipeline
from memoranda.errors import ConfigError, MemorandaError
from memoranda.maintenance.schedule import NO_LEASE, next_time, parse_times
from memoranda.maintenance.service import STAGES
from memoranda.model.models import Kind, Scope
from memoranda.model.query import Filter
from memoranda.model.reports import Check
from memoranda.model.sessions import SessionInfo, describe_counts
from memoranda.notes.service import WRONG
from memoranda.settings.parsing import names
from memoranda.settings.settings import Settings
from memoranda.store.locations import file_of, medium
from memoranda.store.sql.store import Store

CANARY = "Captain Almeida keeps a lighthouse near Lisbon and paints small boats."
# How long after it was due a run of upkeep is missed: no machine is on at all hours. And how long a
# session waits, where its model has failed before.
MISSED, SOON = timedelta(days=1), timedelta(hours=1)
# Sessions that are named.
SOME = 3
KEPT = "memoranda chat, mcp and worker run it on schedule while they run"
REINSTALL = "pip install --force-reinstall memoranda"
OTHER_MODEL = "choose another embedding.model: this one does not find a text by its own words"
MEANING_ALONE = "off: by the setting retrieval.fusion = cosine, which asks for the meaning alone"
NO_TOKENS = "off: by the settings retrieval.token_vectors or fusion, or the model gives none"
# What each arm is asked, and has to find the canary by.
QUESTIONS = {
    "lexical": "boat painting",
    "vector": CANARY,
    "tokens": CANARY,
    "entity": "lisbon",
    "temporal": "what happened yesterday?",
}
DECOYS = (
    "The quarterly report has forty pages of tables about steel prices.",
    "Basil and tomatoes grow well together on a sunny balcony.",
)


# Whether it is well, what was found, and what to do about it.
Finding = tuple[bool | None, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """Looks at everything that can be wrong with a memory. It is only read.

    Attributes:
        store: where it is.
        scope: whose memory.
        settings: how it is made.
        derivations: makes its vectors.
        names: finds its names.
        notes: the status of its notes.
        now: the present.
        open_canaries: opens a memory like it in which canaries live.
    """

    store: Store
    scope: Scope
    settings: Settings
    derivations: DerivationWorker
    names: EntityPipeline
    notes: str
    now: datetime
    open_canaries: Callable[[], AbstractContextManager[Any]]

    def examine(self) -> list[Check]:
        """Return what was found at each point."""
        checks = []
        for name, probe in self._probes():
            try:
                found = probe()
            except MemorandaError as error:
                found = False, f"could not be looked at: {error}", None
            checks.append(Check(name, *found))
        return [*checks, *self._arms()]

    def _probes(self) -> Iterator[tuple[str, Callable[[], Finding]]]:
        """Yield what is to be looked at: the machine, the memory, and what works on it."""
        store, file = self.store, file_of(self.store.location)
        if file is not None:
            yield medium(store.location), lambda: _file(file, store)
        elif medium(store.location) == "server":
            yield "server", lambda: (True, f"{store.location}, over {store.size():,} bytes", None)
        yield "contents", lambda: _soundness(self.store.verify())
        yield "vectors", self._vectors
        yield "waiting", self._waiting
        yield "learning", self._learning
        yield "notes", lambda: _notes(self.notes)
        yield "upkeep", self._upkeep
        yield "names", lambda: _names(self.names, self.settings)

    def _vectors(self) -> Finding:
        problem = self.derivations.problem
        if problem is None:
            return True, self.derivations.describe(self.scope), None
        remedy = "memoranda doctor --reembed" if "--reembed" in problem else None
        return None if self.derivations.embedder is None else False, f"off: {problem}", remedy

    def _waiting(self) -> Finding:
        waiting = self.derivations.waiting(None)
        if self.derivations.problem is not None:
            return None, f"records without a vector: {waiting:,}", None
        detail = f"records that wait: {waiting:,}; the next search embeds those of its user"
        return True, detail if waiting else "every record has one", None

    def _learning(self) -> Finding:
        """Say whether sessions wait for long, or because the model fails."""
        sessions = self.store.sessions(self.scope).values()
        usage = self.store.usage(self.scope)
        failures = sum(each.usage.failures for each in usage if each.stage == "consolidate")
        patience = SOON if failures else MISSED
        stuck = [each.id for each in sessions if self._has_waited(each, patience)]
        if stuck:
            some = ", ".join(stuck[:SOME])
            detail = f"sessions that wait, and should be facts by now: {len(stuck)} ({some})"
            if failures:
                detail += f"; the language model failed {failures:,} times"
            return False if failures else None, detail, "memoranda consolidate; it says what fails"
        return True, "no session waits for long, and every message was read to its end", None

    def _has_waited(self, session: SessionInfo, patience: timedelta) -> bool:
        """Return whether a session has waited for longer than that to become facts."""
        if session.consolidated_at is not None:
            return False
        where = Filter.at_any_time(
            kinds=(Kind.EPISODE,), session=session.id, beyond=session.through
        )
        waiting = self.store.records(self.scope, where, limit=1)
        return bool(waiting) and waiting[0].created_at < self.now - patience

    def _upkeep(self) -> Finding:
        """Say when each stage last ran on schedule and what it did, and which have been missed."""
        last = {run.job: run for run in self.store.job_runs()}
        first = self.store.records(self.scope, Filter.at_any_time(kinds=tuple(Kind)), limit=1)
        begun = first[0].created_at if first else self.now
        told, late = [], []
        for stage in STAGES:
            try:
                times = parse_times(getattr(self.settings.schedule, stage), self.settings.zone)
            except ConfigError as error:
                return False, str(error), f"write schedule.{stage} anew"
            run = last.get(stage)
            if run is not None:
                at = run.finished_at.astimezone(self.settings.zone)
                told.append(f"{stage}: ran {at:%Y-%m-%d %H:%M}, {describe_counts(run.counts)}")
            else:
                told.append(f"{stage}: off" if times is None else f"{stage}: not yet")
            done = self.store.stage_leases(stage).get(self.scope.user, NO_LEASE).done or begun
            due = None if times is None else next_time(times, done)
            late += [stage] if due is not None and due < self.now - MISSED else []
        if late:
            detail = f"{'; '.join(told)}; missed for a day or longer: {', '.join(late)}"
            return None, detail, f"memoranda maintain {' '.join(late)}; {KEPT}"
        return True, "; ".join(told), None

    def _arms(self) -> list[Check]:
        try:
            with self.open_canaries() as cage:
                for decoy in DECOYS:
                    cage.remember(decoy, event_time=self.now - timedelta(days=400))
                canary = cage.remember(CANARY, event_time=self.now - timedelta(days=1)).id
                return [Check(f"{arm} arm", *self._arm(cage, canary, arm)) for arm in QUESTIONS]
        except MemorandaError as error:
            return [Check("arms", ok=False, detail=f"the canary could not be asked for: {error}")]

    def _arm(self, cage: Any, canary: str, arm: str) -> Finding:
        """Ask an arm for its canary; entities by name, as few ways of ranking read them."""
        query, vectors = QUESTIONS[arm], cage.stats().vectors
        if arm == "tokens" and not self.derivations.has_tokens:
            return None, NO_TOKENS, None
        if arm == "vector" and vectors.startswith("off"):
            return None if self.derivations.embedder is None else False, vectors, None
        if arm in {"lexical", "temporal"} and self.settings.retrieval.fusion == "cosine":
            return None, MEANING_ALONE, None
        if arm == "entity":
            entity = cage.entity(query)
            finds = entity is not None and canary in [record.id for record in entity.records]
        else:
            hits = cage.search(query, limit=len(DECOYS) + 1, min_score=0.0)
            arms = {hit.record.id: hit.why.arms.get(arm) for hit in hits}
            finds = [key for key, found in arms.items() if found and found.rank == 1] == [canary]
        if finds:
            return True, "finds its canary", None
        remedy = OTHER_MODEL if arm in {"vector", "tokens"} else REINSTALL
        if arm == "entity" and "regex" not in self.names.strategies[FAST]:
            remedy = "memoranda config set entities.fast regex"
        return False, f"does not find its canary by {query!r}", remedy


def _notes(found: str) -> Finding:
    if found.startswith(WRONG):
        remedy = "put it right; memory goes on without them, and nothing is lost"
        return False, found, remedy
    return True, found, None


def _file(file: Path, store: Store) -> Finding:
    try:
        status = file.stat()
    except OSError as error:
        return False, f"{file}: {error.strerror}", None
    mode = stat.S_IMODE(status.st_mode)
    amount = status.st_size if file.is_file() else store.size()
    detail = f"{file}, {amount:,} bytes, mode {mode:04o}"
    if not os.access(file, os.W_OK):
        return False, f"{detail}, read-only", "allow writing"
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and os.name == "posix":
        remedy = f"chmod {700 if file.is_dir() else 600} {file}"
        return None, f"{detail}: others on this machine may read it", remedy
    return True, detail, None


def _soundness(problems: list[str]) -> Finding:
    if not problems:
        return True, "index, links and vectors agree with records", None
    if all("--purge" in problem for problem in problems):
        remedy = "memoranda doctor --purge"
    elif any(problem.startswith(("SQLite: ", "rows of ")) for problem in problems):
        remedy = "restore a backup, or see docs/reliability.md"  # Nothing can derive these.
    else:
        remedy = "memoranda doctor --rebuild"
    return False, "; ".join(problems), remedy


def _names(found: EntityPipeline, settings: Settings) -> Finding:
    """Look at what finds names; slow ones are missed only where a night uses them."""
    chosen = settings.entities
    used = [chosen.fast] if settings.schedule.enrich == "off" else [chosen.fast, chosen.accurate]
    wanted = names(", ".join(used))
    when = {"fast": "at once", "accurate": "at night"}
    orders = found.strategies.items()
    detail = "; ".join(f"{when.get(how, how)} by {', '.join(order)}" for how, order in orders)
    missing = {name: why for name, why in found.missing.items() if name in wanted}
    if not missing:
        return True, detail, None
    return None, f"{detail}; not by {', '.join(missing)}", "; ".join(missing.values())
