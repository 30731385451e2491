"""Entities of a user: one row for each thing, every spelling it goes by, and who mentions it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from memoranda.model.models import Mention
from memoranda.model.ports import NameMatcher
from memoranda.store.chroma import decisions
from memoranda.store.chroma.rows import Stored, Thing
from memoranda.store.chroma.state import State

LONGEST_NAME = 60
MOST_ALIKE = 100
"""Names that are compared with a new one: where more may be meant, none is."""


def link(state: State, names: NameMatcher, row: Stored, mentions: Sequence[Mention]) -> Stored:
    """Return a record with links to the entities it mentions, making those that are new (seed 004).

    To be put by the caller: an entity is there before the record that mentions it.
    """
    links = dict.fromkeys(row.links)
    for mention in mentions:
        folded = names.fold(mention.text)
        if not folded:
            continue
        entity = _find(state, names, folded, mention) or _create(state, mention.text, mention.type)
        _call(state, entity, folded, mention.text)
        links[entity, folded] = None
    return replace(row, links=tuple(links))


def _find(state: State, names: NameMatcher, folded: str, mention: Mention) -> str | None:
    exact = decisions.first(state, state.indexes.things[folded])
    if exact is not None:
        return exact
    known = decisions.holder(state, folded)
    if known is not None or decisions.target(state, folded) is not None:
        return known  # A person's word goes before any rule.
    alike = list(islice(_candidates(state, names.keys(mention.text)), MOST_ALIKE))
    # One name at a time: an entity that fits by two of its names is still one.
    asked = mention.text, mention.type
    meant = {thing.id for known, _, thing in alike if names.link(*asked, {known: thing.type})}
    if not meant:
        # Or it is the full name of one that is known by a short one.
        this = {folded: mention.type}
        meant = {thing.id for _, name, thing in alike if names.link(name, thing.type, this)}
    return meant.pop() if len(meant) == 1 else None


def _candidates(state: State, keys: Iterable[str]) -> Iterator[tuple[str, str, Thing]]:
    """Give the names under these keys: folded, as written, and whose they are."""
    under = [entry for key in sorted(keys) for entry in state.indexes.name_keys[key]]
    for entity, folded, name in dict.fromkeys(under):
        # To names that stand alone, or are one with such a name, no rule links another.
        if not decisions.alone(state, folded):
            yield folded, name, state.things[entity]


def _create(state: State, name: str, type: str) -> str:
    thing = Thing(id=f"ent_{secrets.token_hex(10)}", number=state.number(), name=name, type=type)
    state.put(thing)
    return thing.id


def _call(state: State, entity: str, folded: str, name: str) -> None:
    """Let an entity have a name, as it is written first."""
    thing = state.things[entity]
    if folded not in dict(thing.names):
        state.put(replace(thing, names=(*thing.names, (folded, name))))
        rename(state, [entity])


def split(state: State, entity: str, folded: str) -> str:
    """Make one of the names of an entity an entity of its own, and return that."""
    new = _create(state, spelled(state, entity)[folded], state.things[entity].type)
    give(state, entity, folded, new)
    return new


def give(state: State, entity: str, folded: str, to: str) -> None:
    """Move a name of an entity, and the links that were made under it, to another."""
    name = spelled(state, entity).get(folded)
    if name is not None:
        _call(state, to, folded, name)
        thing = state.things[entity]
        state.put(replace(thing, names=tuple(it for it in thing.names if it[0] != folded)))
    for record in list(state.indexes.uses[entity, folded]):
        row = state.records[record]
        moved = [(to, folded) if it == (entity, folded) else it for it in row.links]
        state.put(replace(row, links=tuple(dict.fromkeys(moved))))
    forget_unmentioned(state, [entity])
    rename(state, [to])


def spelled(state: State, entity: str) -> dict[str, str]:
    """Return the names of an entity: folded form → as it is written."""
    thing = state.things.get(entity)
    return {} if thing is None else dict(sorted(thing.names))


def obey(state: State) -> None:
    """Put every name where persons decided that it belongs."""
    for folded, entity in decisions.apart(state):
        holder = decisions.holder(state, folded)
        if holder is not None and holder != entity:
            give(state, entity, folded, holder)
    for folded, entity in decisions.not_alone(state):
        if folded not in spelled(state, entity):
            continue
        new = split(state, entity, folded)
        for other in sorted(decisions.group(state, folded) & spelled(state, entity).keys()):
            give(state, entity, other, new)


def rename(state: State, entities: Iterable[str]) -> None:
    """Choose again under which of its names an entity is shown.

    The name under which persons put others together; else the longest that is no sentence.
    """

    def merit(spelling: tuple[str, str]) -> tuple[bool, bool, int, str]:
        folded, name = spelling
        leads = folded in state.indexes.targets
        return not leads, len(name) > LONGEST_NAME, -len(name), name

    for entity in entities:
        thing = state.things.get(entity)
        if thing is None or not thing.names:
            continue
        _, name = min(thing.names, key=merit)
        if name != thing.name:
            state.put(replace(thing, name=name))


def of_records(state: State, records: Iterable[str]) -> list[str]:
    """Return the entities that these records mention."""
    links = (entity for record in records for entity, _ in state.records[record].links)
    return list(dict.fromkeys(links))


def forget_unmentioned(state: State, entities: Iterable[str]) -> None:
    """Drop the spellings that no record uses any more, and the entities left without any."""
    for entity in entities:
        thing = state.things.get(entity)
        if thing is None:
            continue
        if entity not in state.indexes.mentions:
            state.drop(thing)
            continue
        used = tuple(it for it in thing.names if (entity, it[0]) in state.indexes.uses)
        if used != thing.names:
            state.put(replace(thing, names=used))
        rename(state, [entity])
