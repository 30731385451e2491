"""The Markdown memory of another agent, into a memory: its facts, and what happened as episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from memoranda.errors import InvalidInput
from memoranda.model.checks import content_hash
from memoranda.model.models import Kind
from memoranda.model.ports import Progress
from memoranda.records.drafts import Draft
from memoranda.records.pages import record_pages
from memoranda.text.secrets import secret_kind
from memoranda.transfer.batches import BATCH, ImportTarget, Moved, Steps
from memoranda.transfer.json_files import MEMORY_MD
from memoranda.transfer.markdown_memory import LOOKED_FOR, ForeignMemory, read_memory_md

MOST_SHOWN = 3
TELLER = "assistant"
"""Who tells a history: what an agent wrote down is no word of the person."""


class _FactOrEntryKey(NamedTuple):
    """What makes something in a file the same as a stored record.

    A fact is the same whenever it was learned; something that happened twice is two.
    """

    kind: Kind
    digest: str
    at: datetime | None = None


def import_memory_md(
    target: ImportTarget, path: Path, progress: Progress | None
) -> tuple[Moved, tuple[str, ...]]:
    """Add what a Markdown memory holds: facts that a person stands behind, and episodes.

    A fact that the user has already, believed or not, is not added again: so importing again adds
    nothing, also after a crash in between, and what was forgotten stays forgotten. Only what was
    erased leaves nothing to know it by. Lines that look like secrets are not added.

    Args:
        target: the memory.
        path: a file or a folder, see :func:`memoranda.notes.foreign.read_memory_md`.
        progress: told after each batch how many facts and entries are done.

    Returns:
        how many records were added, and a line for each file that was not read, or that holds
        lines which look like secrets.

    Raises:
        InvalidInput: there is nothing at ``path``, or no memory in it; nothing was written.
    """
    memory, secrets = _without_secrets(read_memory_md(path, target.zone))
    found = _distinct(memory)
    left_out = (*map(str, memory.skipped), *secrets)
    if not found:
        raise _nothing(path, left_out)
    there = _there(target, memory)
    new = [draft for key, draft in found.items() if key not in there]
    steps = Steps(len(found), progress)
    if there.intersection(found):
        steps.advance(len(found) - len(new))
    for start in range(0, len(new), BATCH):
        batch = new[start : start + BATCH]
        plan = [target.records.plan(draft, reason="imported") for draft in batch]
        target.store.apply(target.scope, plan)
        steps.advance(len(batch))
    told = len(memory.facts) + len(memory.entries)
    return Moved(records=len(new), skipped=told - len(new)), left_out


def _without_secrets(memory: ForeignMemory) -> tuple[ForeignMemory, tuple[str, ...]]:
    """Return a memory without what looks like a secret, and how much that is in which file."""
    hidden: Counter[str] = Counter()
    facts, entries = [], []
    for fact in memory.facts:
        if secret_kind(fact.text):
            hidden[fact.file] += 1
        else:
            facts.append(fact)
    for entry in memory.entries:
        lines = entry.text.split("\n")
        plain = [line for line in lines if not secret_kind(line)]
        text = "\n".join(plain).strip()
        if secret_kind(text):  # One that goes over several lines.
            plain, text = [], ""
        hidden[entry.file] += len(lines) - len(plain)
        if text:
            entries.append(replace(entry, text=text))
    told = tuple(
        f"{file}: {count} {'line looks like a secret' if count == 1 else 'lines look like secrets'}"
        f", not imported"
        for file, count in hidden.items()
        if count
    )
    return replace(memory, facts=tuple(facts), entries=tuple(entries)), told


def _distinct(memory: ForeignMemory) -> dict[_FactOrEntryKey, Draft]:
    """Return what is to be stored; of what is there twice, the first."""
    found: dict[_FactOrEntryKey, Draft] = {}
    for key, draft in _drafts(memory):
        found.setdefault(key, draft)
    return found


def _nothing(path: Path, left_out: Sequence[str]) -> InvalidInput:
    shown = "".join(f"; {line}" for line in left_out[:MOST_SHOWN])
    return InvalidInput(f"{path} holds no memory to import; looked for {LOOKED_FOR}{shown}")


def _drafts(memory: ForeignMemory) -> Iterator[tuple[_FactOrEntryKey, Draft]]:
    for fact in memory.facts:
        place = {"section": fact.section, "file": fact.file}
        yield (
            _FactOrEntryKey(Kind.FACT, content_hash(fact.text)),
            Draft(
                content=fact.text,
                kind=Kind.FACT,
                metadata={name: value for name, value in place.items() if value},
                event_time=fact.at,
                decay_rate=0.0,
                origin=f"import:{MEMORY_MD}",
            ),
        )
    for entry in memory.entries:
        yield (
            _FactOrEntryKey(Kind.EPISODE, content_hash(entry.text), entry.at),
            Draft(
                content=entry.text,
                kind=Kind.EPISODE,
                role=TELLER,
                metadata={"file": entry.file},
                event_time=entry.at,
                origin=f"import:{MEMORY_MD}",
            ),
        )


def _there(target: ImportTarget, memory: ForeignMemory) -> set[_FactOrEntryKey]:
    """Return what the user has, believed or not, with any agent."""
    kinds = (Kind.FACT, Kind.EPISODE) if memory.entries else (Kind.FACT,)
    found: set[_FactOrEntryKey] = set()
    for page in record_pages(target.store, target.everyone, target.records.now(), kinds):
        for record in page:
            digest = record.content_hash
            if record.kind is Kind.FACT:
                found.add(_FactOrEntryKey(Kind.FACT, digest))
            elif record.session_id is None:
                found.add(_FactOrEntryKey(Kind.EPISODE, digest, record.event_time))
                found.add(_FactOrEntryKey(Kind.EPISODE, digest))  # As one that says no time.
    return found
