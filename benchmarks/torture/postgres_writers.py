"""Processes that write to PostgreSQL through the store's interface, and the check of what they did.

A :class:`memoranda.Memory` cannot open PostgreSQL yet; the store itself can be written.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.torture.checking import TO_PURGE, Findings, Line, read_log
from benchmarks.torture.writers import Log, Role
from memoranda.model.actions import Erase, ReplaceMessages
from memoranda.model.models import Scope
from memoranda.testing.analyzers import PlainNames, WordAnalyzer
from memoranda.testing.samples import ALL, User, insert, insert_with_message, moment, record

if TYPE_CHECKING:
    from memoranda.store.postgres import PostgresStore


@contextmanager
def server() -> Iterator[str]:
    """Run a server of one's own; give its address."""
    from tests.shared.postgres_server import running_server  # noqa: PLC0415 - needs its extras

    with running_server() as address:
        open_store(address).close()
        yield address


def open_store(address: str) -> PostgresStore:
    """Open the store of a database."""
    from memoranda.store.postgres import PostgresStore  # noqa: PLC0415 - extra `postgres`

    return PostgresStore(address, analyzer=WordAnalyzer(), names=PlainNames())


def write(role: Role) -> None:
    """Write records with their messages, items, removals and erasings until killed."""
    store, log, scope = open_store(role.location), Log(role.log), Scope(role.user)
    user, rng = User(store, scope), random.Random(f"{role.name} {role.life}")  # noqa: S311 - no secret
    chat = f"{role.name}-{role.life}"
    user.open_conversation(chat)
    turn, said = 0, 0
    while True:
        turn += 1
        name = f"{role.name}_{role.life:04d}_{turn:06d}"
        verb = rng.choices(("say", "item", "pop", "erase"), (70, 20, 7, 3))[0]
        try:
            if verb == "say" or not said:
                item = record(f"Page {name} is for Zoe", scope=scope, id=f"fact_{name}")
                store.apply(scope, insert_with_message(item, chat))
                said += 1
                log(verb="say", record=item.id, text=item.content)
            elif verb == "item":
                user.put("shared", name, "torture", id=f"item_{name}a")
                item = user.put(role.name, name, "torture", id=f"item_{name}b")
                log(verb="item", item=item.id)
            elif verb == "pop":
                action = ReplaceMessages(chat, f"tmb_{name}", moment(turn), newest=1)
                store.apply(scope, [action])
                said -= 1
                log(verb="pop", chat=chat, tombstone=f"tmb_{name}")
            else:
                gone = f"fact_erased_{name}"
                store.apply(scope, [insert(record(f"Gone {name}", scope=scope, id=gone))])
                log(verb="erase", begun=gone)
                store.apply(scope, [Erase((gone,), moment(turn), "asked")])
                log(verb="erase", erased=gone)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            log(verb=verb, error=f"{type(error).__name__}: {error}")


def check(address: str, folder: Path, roles: Sequence[tuple[str, str]]) -> Findings:
    """Return what writers acknowledged, and what of it is not in the store."""
    found, store = Findings(), open_store(address)
    found.errors += [line for line in store.verify() if TO_PURGE not in line]
    for name, user in roles:
        scope = Scope(user)
        texts = {each.id: each.content for each in store.records(scope, ALL)}
        lines = read_log(folder / f"{name}.log")
        chats = {line["chat"] for line in lines if "chat" in line}
        tombstones = {each.id for chat in chats for each in store.tombstones(scope, chat)}
        is_there: dict[str, Callable[[Line], bool]] = {
            "say": lambda line, texts=texts: texts.get(line["record"]) == line["text"],
            "item": lambda line, scope=scope: bool(store.get(scope, [line["item"]])),
            "pop": lambda line, known=tombstones: line["tombstone"] in known,
            "erase": lambda line, texts=texts: line["erased"] not in texts,
        }
        for line in lines:
            if "error" in line:
                found.errors.append(f"{line['verb']}: {line['error']}")
            elif "begun" not in line:
                found.acknowledged[line["verb"]] += 1
                if not is_there[line["verb"]](line):
                    found.lost.append(f"not in the store: {line}")
    store.close()
    return found
