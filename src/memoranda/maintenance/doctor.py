"""The doctor: says whether a memory and the machine it is on are well, and what to do if not.

An arm that silently finds nothing is the fault users notice last. So each arm has to find
a canary: a record planted for it in a memory of its own, made with the same settings and
the same model.
"""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from memoranda.derivations.worker import DerivationWorker
from memoranda.entities.pipeline import FAST, EntityPipeline
from memoranda.errors import ConfigError, MemorandaError, ModelUnavailable
from memoranda.maintenance.service import STAGES
from memoranda.maintenance.triggers import parse_times
from memoranda.model.models import Entity, Hit, Record
from memoranda.model.ports import Embedder, LanguageModel, Store
from memoranda.model.reports import Check, MemoryStats
from memoranda.model.sessions import JobRun, describe_counts
from memoranda.notes.service import WRONG
from memoranda.providers.embedding import model_files as files
from memoranda.settings.parsing import names
from memoranda.settings.settings import Settings
from memoranda.store.locations import file_of, is_server, medium
from memoranda.store.sql.dialect import schema_steps
from memoranda.store.sqlite import SqliteStore

EXTRAS = {
    "local": ("onnxruntime", "safetensors", "tokenizers"),
    "chroma": ("chromadb",),
    "mcp": ("mcp",),
    "openai": ("openai",),
    "postgres": ("psycopg", "psycopg_pool"),
    "sentence-transformers": ("sentence_transformers",),
    "tui": ("textual",),
    "worker": ("prometheus_client",),
}
# Where an SQLite file says how it is written, and that it is by a write-ahead log.
WAL_AT, WAL = 18, b"\x02\x02"
CANARY = "Captain Almeida keeps a lighthouse near Lisbon and paints small boats."
# How long after it was due a run of upkeep is missed: no machine is on at all hours.
MISSED = timedelta(days=1)
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


passed = partial(Check, ok=True)
noted = partial(Check, ok=None)
failed = partial(Check, ok=False)


class CanaryMemory(Protocol):
    """A memory in which canaries are planted and looked for."""

    def remember(self, content: str, *, event_time: datetime | None = None) -> Record:
        """Store a fact."""

    def search(self, query: str, *, limit: int = 5, min_score: float | None = None) -> list[Hit]:
        """Return what answers ``query``."""

    def entity(self, name: str) -> Entity | None:
        """Return who or what has that name."""

    def stats(self) -> MemoryStats:
        """Return whether vectors are on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """Looks at everything that can be wrong with a memory. It is only read.

    Attributes:
        store: where it is.
        settings: how it is made.
        derivations: makes its vectors.
        embedder: the model of these, if there is one.
        vectors: which model that is, or why there are none.
        language_model: the model of its stages.
        names: finds its names.
        notes: the status of its notes.
        upkeep: the last scheduled run of each stage.
        unread: how many messages of its sessions took too long to read.
        now: the present.
        open_canaries: opens a memory like it in which canaries live.
    """

    store: Store
    settings: Settings
    derivations: DerivationWorker
    embedder: Embedder | None
    vectors: str
    language_model: LanguageModel | None
    names: EntityPipeline
    notes: str
    upkeep: Sequence[JobRun]
    unread: int
    now: datetime
    open_canaries: Callable[[], AbstractContextManager[CanaryMemory]]

    def examine(self) -> list[Check]:
        """Return what was found at each point."""
        store, file = self.store, file_of(self.store.location)
        system = f"{platform.python_version()}, {platform.system()}"
        checks = [passed("python", detail=system)]
        if file is not None:
            checks.append(_file(file, store))
        elif told := store.checks():
            checks += told
        elif is_server(store.location):
            detail = f"{store.location}, {store.size():,} bytes of records at least"
            checks.append(passed("server", detail=detail))
        if isinstance(store, SqliteStore):
            checks.append(passed("sqlite", detail=f"{version('apsw')} with FTS5 (apsw)"))
            checks += [] if file is None else [_journal(file)]
            # To open a memory is to bring its schema to the newest.
            checks.append(passed("schema", detail=f"version {len(schema_steps())}, the newest"))
        # What stands in for what the storage does not do by itself.
        stand_ins = (each for each in store.capabilities() if not each.native)
        checks += [passed(each.name, detail=each.detail) for each in stand_ins]
        checks += [_soundness(store.verify()), *self._vectors(), _model_files(self.settings)]
        checks += [
            _learning(self.unread),
            _notes(self.notes),
            _upkeep(self.upkeep, self.settings, self.now),
        ]
        checks += [_extras(), _language(self.language_model)]
        return [*checks, _names(self.names, self.settings), *self._arms()]

    def _vectors(self) -> list[Check]:
        problem, waiting = self.derivations.problem, self.derivations.waiting(None)
        if problem is None:
            detail = f"records that wait: {waiting:,}; the next search embeds those of its user"
            return [
                passed("vectors", detail=self.vectors),
                passed("waiting", detail=detail if waiting else "every record has one"),
            ]
        remedy = "memoranda doctor --reembed" if "--reembed" in problem else None
        off = Check("vectors", None if self.embedder is None else False, f"off: {problem}", remedy)
        return [off, noted("waiting", detail=f"records without a vector: {waiting:,}")]

    def _arms(self) -> list[Check]:
        try:
            with self.open_canaries() as cage:
                for decoy in DECOYS:
                    cage.remember(decoy, event_time=self.now - timedelta(days=400))
                canary = cage.remember(CANARY, event_time=self.now - timedelta(days=1)).id
                off = self._arms_off(cage)
                return [
                    noted(f"{arm} arm", detail=off[arm])
                    if arm in off
                    else _arm(cage, canary, arm, query, self._arm_remedy(arm))
                    for arm, query in QUESTIONS.items()
                ]
        except MemorandaError as error:
            return [failed("arms", detail=f"the canary could not be asked for: {error}")]

    def _arms_off(self, cage: CanaryMemory) -> dict[str, str]:
        """Return why an arm is not asked at all, of each that is not."""
        off = {} if self.derivations.has_tokens else {"tokens": NO_TOKENS}
        if self.embedder is None:
            off["vector"] = cage.stats().vectors
        if self.settings.retrieval.fusion == "cosine":
            off |= dict.fromkeys(("lexical", "temporal"), MEANING_ALONE)
        return off

    def _arm_remedy(self, arm: str) -> str:
        """Return what helps where an arm does not find its canary."""
        if arm in {"vector", "tokens"}:
            return OTHER_MODEL
        if arm == "entity" and "regex" not in self.names.strategies[FAST]:
            return "memoranda config set entities.fast regex"
        return REINSTALL


def _notes(found: str) -> Check:
    if found.startswith(WRONG):
        remedy = "put it right; memory goes on without them, and nothing is lost"
        return failed("notes", detail=found, remedy=remedy)
    return passed("notes", detail=found)


def _learning(unread: int) -> Check:
    if not unread:
        return passed("learning", detail="every message that was looked at was read to its end")
    return noted(
        "learning",
        detail=f"messages of which nothing was learned, as it took too long: {unread}",
        remedy="search finds them; raise consolidation.longest for what comes",
    )


def _upkeep(runs: Sequence[JobRun], settings: Settings, now: datetime) -> Check:
    """Say when each stage last ran on schedule and what it did, and which have been missed."""
    last = {run.job: run for run in runs}
    told, late = [], []
    for stage in STAGES:
        written = getattr(settings.schedule, stage)
        try:
            times = parse_times(written, settings.zone)
        except ConfigError as error:
            return failed("upkeep", detail=str(error), remedy=f"write schedule.{stage} anew")
        run = last.get(stage)
        if run is not None:
            at = run.finished_at.astimezone(settings.zone)
            told.append(f"{stage}: ran {at:%Y-%m-%d %H:%M}, {describe_counts(run.counts)}")
            due = times and times.next(run.due)
            late += [stage] if due and due < now - MISSED else []
        elif times is None:
            told.append(f"{stage}: off")
        else:
            told.append(f"{stage}: not yet")
    if late:
        detail = f"{'; '.join(told)}; missed for a day or longer: {', '.join(late)}"
        return noted("upkeep", detail=detail, remedy=f"memoranda maintain {' '.join(late)}; {KEPT}")
    return passed("upkeep", detail="; ".join(told))


def _file(file: Path, store: Store) -> Check:
    name = medium(store.location)
    try:
        status = file.stat()
    except OSError as error:
        return failed(name, detail=f"{file}: {error.strerror}")
    mode = stat.S_IMODE(status.st_mode)
    amount = status.st_size if file.is_file() else store.size()
    detail = f"{file}, {amount:,} bytes, mode {mode:04o}"
    if not os.access(file, os.W_OK):
        return failed(name, detail=f"{detail}, read-only", remedy="allow writing")
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and os.name == "posix":
        return noted(
            name,
            detail=f"{detail}: others on this machine may read it",
            remedy=f"chmod {700 if file.is_dir() else 600} {file}",
        )
    return passed(name, detail=detail)


def _journal(file: Path) -> Check:
    try:
        with file.open("rb") as opened:
            header = opened.read(WAL_AT + len(WAL))
    except OSError as error:
        return failed("journal", detail=f"{file}: {error.strerror}")
    if header[WAL_AT:] == WAL:
        return passed("journal", detail="WAL: readers never wait for a writer")
    return failed(
        "journal",
        detail="not WAL: readers and writers wait for each other",
        remedy="put the file on a local disk, and close other programs that have it open",
    )


def _soundness(problems: list[str]) -> Check:
    if not problems:
        return passed("contents", detail="index, links and vectors agree with records")
    if all("--purge" in problem for problem in problems):
        remedy = "memoranda doctor --purge"
    elif all("may hold notes of what was erased" in problem for problem in problems):
        remedy = "memoranda notes sync, as the user whose notes they are"
    elif any(problem.startswith(("SQLite: ", "rows of ")) for problem in problems):
        remedy = "restore a backup, or see docs/reliability.md"  # Nothing can derive these.
    else:
        remedy = "memoranda doctor --rebuild"
    return failed("contents", detail="; ".join(problems), remedy=remedy)


def _model_files(settings: Settings) -> Check:
    wanted = settings.embedding.model in {"auto", "local"}
    try:
        found = files.find(settings.embedding.folder)
    except ModelUnavailable as error:
        needed = False if settings.embedding.model == "local" else None
        remedy = files.REMEDY.removeprefix("run: ") if wanted else None
        return Check("local model", needed, str(error).removesuffix(f"; {files.REMEDY}"), remedy)
    return passed("local model", detail=f"{files.MODEL} in {found.weights.parent}")


def _extras() -> Check:
    there = [name for name, modules in EXTRAS.items() if all(find_spec(each) for each in modules)]
    absent = [name for name in EXTRAS if name not in there]
    detail = f"installed: {', '.join(there) or 'none'}"
    if absent:
        detail += f"; not installed: {', '.join(absent)}"
    if "local" in there:
        return passed("extras", detail=detail)
    return noted("extras", detail=detail, remedy="pip install 'memoranda[local]'")


def _language(model: LanguageModel | None) -> Check:
    if model is None:
        return noted("language model", detail="none: rules do all that a model would do better")
    return passed("language model", detail=f"{model.name} (it was not asked)")


def _names(found: EntityPipeline, settings: Settings) -> Check:
    """Look at what finds names: providers that settings name and nobody set up are no fault.

    Where nothing reads names again at night, those that would are not missed.
    """
    used = (f"{strategy}: {', '.join(order)}" for strategy, order in found.strategies.items())
    chosen, enriches = settings.entities, settings.schedule.enrich != "off"
    wanted = names(f"{chosen.fast}, {chosen.accurate}" if enriches else chosen.fast)
    detail = "; ".join(used)
    missing = {name: why for name, why in found.missing.items() if name in wanted}
    if not missing:
        return passed("names", detail=detail)
    detail += f"; without {', '.join(missing)}"
    return noted("names", detail=detail, remedy="; ".join(missing.values()))


def _arm(cage: CanaryMemory, canary: str, arm: str, query: str, remedy: str) -> Check:
    if arm == "entity":
        entity = cage.entity(query)
        finds = entity is not None and canary in [record.id for record in entity.records]
    else:
        hits = cage.search(query, limit=len(DECOYS) + 1, min_score=0.0)
        arms = {hit.record.id: hit.why.arms.get(arm) for hit in hits}
        finds = [key for key, found in arms.items() if found and found.rank == 1] == [canary]
    if finds:
        return passed(f"{arm} arm", detail="finds its canary")
    vectors = cage.stats().vectors
    problem = vectors if arm == "vector" and vectors.startswith("off") else None
    return failed(
        f"{arm} arm",
        detail=problem or f"does not find its canary by {query!r}",
        remedy=remedy if problem is None else None,
    )
