"""Checks and repairs of one user's rows: what is derived against what is canonical.

Links, entities, counts of terms and the progress of sessions can always be made again from
records and messages. :func:`problems` compares, :func:`rebuilt` makes them equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from memoranda.model.models import Kind, Record
from memoranda.model.ports import Analyzer, EntityExtractor
from memoranda.model.text import content_hash
from memoranda.store.chroma import decisions, entities
from memoranda.store.chroma.actions.transaction import Transaction
from memoranda.store.chroma.rows import Progress, Said, Stored, Talk, Thing
from memoranda.store.chroma.state import State

SAMPLE = 3
ENRICHED = "enriched_at"
# Not a check that `rebuilt` can answer: what these lines are of is in a file.
STILL_NOTED = "may hold notes of what was erased; write the notes of its user there anew"
UNPURGED = "erased text may remain in free space; run memoranda doctor --purge"
Check = Callable[[State], Iterable[str]]


def problems(state: State, *, analyzer: Analyzer, generation: int) -> list[str]:
    """Return a line for each kind of difference found, with examples.

    Args:
        state: the rows of one user.
        analyzer: counts the terms of a text.
        generation: how often the model of the vectors was named.
    """
    found: list[str] = []
    for name, check in CHECKS.items():
        found += report(name, check(state))
    for row_name, is_wrong in _row_checks(analyzer, generation).items():
        found += report(row_name, (row.key for row in state.records.values() if is_wrong(row)))
    found += [f"{folder} {STILL_NOTED}" for folder in _erased_but_noted(state)]
    if state.counters.erasures > state.counters.excused:
        found.append(UNPURGED)
    return found


def report(name: str, wrong: Iterable[str]) -> list[str]:
    """Return the line of a problem with a few examples; none where nothing is wrong."""
    found = list(wrong)
    if not found:
        return []
    more = ", …" if len(found) > SAMPLE else ""
    return [f"{name}: {len(found)} ({', '.join(found[:SAMPLE])}{more})"]


# Checks


def _row_checks(analyzer: Analyzer, generation: int) -> dict[str, Callable[[Stored], bool]]:
    return {
        "vectors of a model that was never named": lambda row: row.generation > generation,
        "records changed behind memoranda's back": _is_altered,
        "records indexed under other terms": lambda row: (
            row.terms != len(analyzer.terms(row.record.content))
        ),
    }


def _is_altered(row: Stored) -> bool:
    return content_hash(row.record.content) != row.record.content_hash


def _unmentioned(state: State) -> Iterator[str]:
    return (thing.id for thing in state.things.values() if not _is_mentioned(state, thing))


def _is_mentioned(state: State, thing: Thing) -> bool:
    return thing.id in state.indexes.mentions


def _unused_names(state: State) -> Iterator[str]:
    for thing in state.things.values():
        for folded, name in thing.names:
            if (thing.id, folded) not in state.indexes.uses:
                yield name


def _lost_links(state: State) -> Iterator[str]:
    return (row.key for row in state.records.values() if _sound(state, row) != row.links)


def _sound(state: State, row: Stored) -> tuple[tuple[str, str], ...]:
    """Return the links of a record that lead to a name of an entity."""
    return tuple(link for link in row.links if link[0] in state.indexes.things[link[1]])


def _orphans(state: State) -> list[Said]:
    """Return the messages that name an episode which is not there."""
    return [
        said
        for said in state.messages.values()
        if said.message.record_id is not None and said.message.record_id not in state.records
    ]


def _next_free(state: State, talk: Talk) -> int:
    places = (state.messages[key].message.position for key in state.indexes.talks[talk.key])
    return 1 + max([talk.cleared, *(place for place in places if place is not None)])


def _of_ended(test: Callable[[Stored], bool]) -> Check:
    """Return the check for records that were retired and yet pass a test."""
    return lambda state: (
        row.key for row in state.records.values() if not row.indexed and test(row)
    )


def _is_impossible(item: Record) -> bool:
    return not (0 <= item.confidence <= 1 and (item.strength is None or 0 <= item.strength <= 1))


def _telling(state: State) -> dict[str, Progress]:
    """Return the progress that there is of sessions when nothing of them was read."""
    found: dict[str, Progress] = {}
    for row in state.records.values():
        item = row.record
        if item.kind is Kind.EPISODE and item.session_id is not None:
            at = item.created_at
            new = Progress(session=item.session_id, agent=item.agent, first_seen_at=at)
            known = found.get(new.key, new)
            found[new.key] = replace(known, first_seen_at=min(known.first_seen_at, at))
    return found


def _silent(state: State) -> Iterator[str]:
    telling = _telling(state)
    return (row.session for key, row in state.sessions.items() if key not in telling)


def _unregistered(state: State) -> Iterable[str]:
    missing = (row for key, row in _telling(state).items() if key not in state.sessions)
    return dict.fromkeys(row.session for row in missing)


def _leading_on(state: State) -> Iterator[str]:
    for folded, row in state.decisions.items():
        if decisions.target(state, row.target) not in {None, row.target}:
            yield folded


def _erased_but_noted(state: State) -> list[str]:
    bases = state.notes.values()
    return sorted(
        {base.folder for base in bases if any(line.id not in state.records for line in base.lines)}
    )


CHECKS: dict[str, Check] = {
    "entities that no record mentions": _unmentioned,
    "names that no record uses": _unused_names,
    "links to entities that are not there": _lost_links,
    "messages whose episode is gone": lambda state: (said.message.id for said in _orphans(state)),
    "entities without a name": lambda state: (
        thing.id for thing in state.things.values() if not thing.names
    ),
    "conversations whose next place is taken": lambda state: (
        talk.key for talk in state.talks.values() if talk.next_position < _next_free(state, talk)
    ),
    "messages whose conversation is gone": lambda state: (
        said.message.id for said in state.messages.values() if said.conversation not in state.talks
    ),
    "prunings whose conversation is gone": lambda state: (
        row.pruning.id for row in state.receipts.values() if row.conversation not in state.talks
    ),
    "retired records with vectors": _of_ended(lambda row: row.generation != -1),
    "retired records with links": _of_ended(lambda row: bool(row.links)),
    "retired records without an end": _of_ended(lambda row: row.record.valid_until is None),
    "records of an impossible strength": lambda state: (
        row.key for row in state.records.values() if _is_impossible(row.record)
    ),
    "sessions without episodes": _silent,
    "sessions that nothing will consolidate": _unregistered,
    "decisions that lead to other decisions": _leading_on,
    "names apart that were decided to be one": lambda state: (
        folded for folded, _ in decisions.apart(state)
    ),
    "names together that were decided to stand alone": lambda state: (
        folded for folded, _ in decisions.not_alone(state)
    ),
}


# Repairs


def rebuilt(tx: Transaction, extractor: EntityExtractor) -> list[str]:
    """Derive again what can be derived; return the problems that were there before."""
    state = tx.state
    found = problems(state, analyzer=tx.analyzer, generation=tx.facts.generation)
    for row in list(state.records.values()):
        mended = _mended(tx, row)
        if mended != row:
            tx.put(mended)
    _mend_sessions(state)
    _mend_decisions(state)
    _mend_talks(tx)
    entities.forget_unmentioned(state, list(state.things))
    wrong = _link_again(tx, extractor)
    entities.obey(state)
    if any(isinstance(row, Stored) for row in state.changes().values()):
        tx.raise_epoch()
    return found + report("records linked to other entities", wrong)


def _mended(tx: Transaction, row: Stored) -> Stored:
    """Return a record as its text and its end say that it is."""
    item = row.record
    altered = _is_altered(row)
    item = replace(
        item,
        content_hash=content_hash(item.content) if altered else item.content_hash,
        confidence=min(max(item.confidence, 0.0), 1.0),
        strength=None if item.strength is None else min(max(item.strength, 0.0), 1.0),
    )
    # What has no end is believed: it is indexed like the rest.
    indexed = row.indexed or item.valid_until is None
    terms = len(tx.analyzer.terms(item.content))
    links = _sound(tx.state, row) if indexed else ()
    mended = replace(row, record=item, indexed=indexed, terms=terms, links=links)
    if altered or not indexed or row.generation > tx.facts.generation:
        return replace(mended, vector=0, generation=-1)  # Of another text, or of none.
    return mended


def _mend_sessions(state: State) -> None:
    telling = _telling(state)
    for key, row in list(state.sessions.items()):
        if key not in telling:
            state.drop(row)
    for key, row in telling.items():
        if key not in state.sessions:
            state.put(row)


def _mend_decisions(state: State) -> None:
    for row in list(state.decisions.values()):
        beyond = decisions.target(state, row.target)
        if beyond not in {None, row.target}:
            state.put(replace(row, target=beyond))


def _mend_talks(tx: Transaction) -> None:
    """Let go of what no conversation holds; let each message have a record that is there."""
    state = tx.state
    for said in [each for each in state.messages.values() if each.conversation not in state.talks]:
        state.drop(said)
    for receipt in [row for row in state.receipts.values() if row.conversation not in state.talks]:
        state.drop(receipt)
    for said in _orphans(state):
        state.put(replace(said, message=replace(said.message, record_id=None)))
        tx.revise(said.conversation)
    for talk in list(state.talks.values()):
        free = _next_free(state, talk)
        if talk.next_position < free:
            state.put(replace(talk, next_position=free))


def _link_again(tx: Transaction, extractor: EntityExtractor) -> list[str]:
    wrong: list[str] = []
    state = tx.state
    for key in [row.key for row in state.records.values() if row.indexed]:
        row = state.records[key]
        mentions = extractor.extract(row.record.content)
        wanted = {tx.names.fold(mention.text) for mention in mentions} - {""}
        known = {folded for _, folded in row.links}
        enriched = row.record.attributes.get(ENRICHED) is not None
        # What was read by a slower extractor has links that this one cannot find again.
        if wanted == known or (enriched and wanted < known):
            continue
        wrong.append(key)
        before = entities.of_records(state, [key])
        bare = row if enriched else replace(row, links=())
        tx.put(entities.link(state, tx.names, bare, mentions))
        entities.forget_unmentioned(state, before)
    return wrong
