"""Processes that are killed: they write by every verb, and log what was acknowledged.

Each line of a log is a JSON object, written by one call to the system after the verb has returned:
what the kernel was given survives whoever gave it. A line with ``begun`` stands before a verb
whose effect must be known even if it was killed in the middle, and ``at`` is when it was written.
"""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.torture.checking import UNIQUE
from memoranda import Conversation, Memory, Settings
from memoranda.testing.embedders import HashEmbedder

CONSOLIDATE = "consolidate"
MOST_MESSAGES = 80
"""Messages of a conversation, after which a writer begins another."""


@dataclass(frozen=True, slots=True)
class Role:
    """Who a process is.

    Attributes:
        location: of the store.
        user: whose memory it writes; others may write it, too.
        name: its own; no other has it.
        life: how often it was started before.
        log: where it tells what was acknowledged.
        seed: of its choices.
    """

    location: str
    user: str
    name: str
    life: int
    log: Path
    seed: int


class Log:
    """Lines that survive the process that writes them."""

    def __init__(self, path: Path) -> None:
        """Write behind what is there."""
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)

    def __call__(self, **line: Any) -> None:
        """Write a line."""
        os.write(self._file, json.dumps({"at": time.time(), **line}).encode() + b"\n")

    def tell(self, verb: str, error: Exception) -> None:
        """Write what a verb raised; whatever it is, it is a finding."""
        self(verb=verb, error=f"{type(error).__name__}: {error}")


def open_memory(location: str, user: str) -> Memory:
    """Open a memory as all processes of the torture do: with vectors, made in the background."""
    settings = Settings(
        timezone="UTC",
        consolidation={"automatic": False},
        embedding={"background": True},
        schedule={"in_background": False},
    )
    return Memory(location, user=user, settings=settings, embedder=HashEmbedder())


class Writer:
    """Writes by every verb, each write unlike all others."""

    def __init__(self, role: Role, memory: Memory) -> None:
        """Write nothing yet."""
        self.memory, self.log = memory, Log(role.log)
        self._role, self._turn, self._chats = role, 0, 0
        self._folder = role.log.parent
        self._rng = random.Random(f"{role.seed} {role.name} {role.life}")  # noqa: S311 - no secret
        self._own: list[str] = []
        self._chat: Conversation | None = None
        # How often each is chosen, of a thousand.
        self._verbs: Mapping[Callable[[], None], float] = {
            self.remember: 590,
            self.remember_many: 60,
            self.item: 130,
            self.add: 150,
            self.pop: 20,
            self.replace: 20,
            self.prune: 4,
            self.correct: 8,
            self.forget: 4,
            self.consolidate: 0.6,
            self.append_history: 3,
            self.write_memory: 0.2,
            self.import_file: 2,
            self.maintain: 0.2,
            self.erase: 0.1,
        }

    def work(self) -> None:
        """Write until killed; what goes wrong is logged, and the next verb follows."""
        verbs, weights = list(self._verbs), list(self._verbs.values())
        while True:
            (verb,) = self._rng.choices(verbs, weights)
            try:
                verb()
            except Exception as error:  # noqa: BLE001 - the law is that there is none
                self.log.tell(verb.__name__, error)

    def text(self) -> str:
        """Return a sentence that nobody else writes."""
        self._turn += 1
        role, rng = self._role, self._rng
        number = f"{role.name}x{role.life}x{self._turn}"
        words = ("heron", "kettle", "ladder", "comet", "violin", "harbour", "lantern", "saddle")
        one, other = rng.sample(words, 2)
        # No five words in a row are those of another: what repeats so much of an erased text goes.
        return f"{UNIQUE}{number} the {one} of {number} stands beside the {other}."

    def chat(self) -> Conversation:
        """Return the conversation at hand, a new one when it has become long."""
        if self._chat is None or len(self._chat) > MOST_MESSAGES:
            self._chats += 1
            name = f"{self._role.name}-{self._role.life}-{self._chats}"
            self._chat = self.memory.conversation(name, max_messages=40)
        return self._chat

    # The verbs

    def remember(self) -> None:
        """Store a fact."""
        record = self.memory.remember(self.text())
        self._own.append(record.id)
        self.log(verb="remember", record=record.id, text=record.content)

    def remember_many(self) -> None:
        """Store five at once."""
        records = self.memory.remember_many([self.text() for _ in range(5)])
        texts = {each.id: each.content for each in records}
        self.log(verb="remember_many", records=texts)

    def item(self) -> None:
        """Write an item under a key that others write, too, and under one of its own."""
        self._turn += 1
        key, value = f"{self._role.name}-{self._turn % 10}", [self._role.life, self._turn]
        self.memory.remember(json.dumps(value), kind="item", namespace=("torture",), key=key)
        self.memory.remember(json.dumps(value), kind="item", namespace=("torture",), key="shared")
        self.log(verb="item", key=key, value=value)

    def add(self) -> None:
        """Add a message, which prunes where there are many."""
        chat = self.chat()
        role = self._rng.choice(["user", "assistant"])
        message = chat.add(role, self.text())
        self.log(verb="add", chat=chat.id, messages=[message.id])

    def pop(self) -> None:
        """Take the newest message away."""
        chat = self.chat()
        gone = [message.id for message in chat.pop()]
        self.log(verb="pop", chat=chat.id, gone=gone)

    def replace(self) -> None:
        """Put a message in the place of another."""
        chat = self.chat()
        messages = chat.messages
        if not messages:
            return
        old = messages[-1].id
        new = chat.replace([old], [{"role": "user", "content": self.text()}])
        self.log(verb="replace", chat=chat.id, gone=[old], messages=[each.id for each in new])

    def prune(self) -> None:
        """Take messages out of the view."""
        chat = self.chat()
        receipt = chat.prune(max_tokens=300)
        if receipt is not None:
            self.log(verb="prune", chat=chat.id, pruning=receipt.id)

    def correct(self) -> None:
        """Correct a record of one's own."""
        if self._own:
            record = self.memory.correct(self._own.pop(), self.text())
            self.log(verb="correct", record=record.id, text=record.content)

    def forget(self) -> None:
        """Stop believing a record of one's own."""
        if self._own:
            known = self._own.pop()
            self.memory.forget(known)
            self.log(verb="forget", forgotten=known)

    def erase(self) -> None:
        """Remove a record of one's own for good."""
        if self._own:
            record = self.memory.get(self._own.pop())
            assert record is not None
            self.log(verb="erase", begun=record.id)
            self.memory.forget(record.id, erase=True)
            self.log(verb="erase", erased=record.id, text=record.content)

    def consolidate(self) -> None:
        """Learn from the conversation at hand."""
        chat = self.chat()
        chat.add("user", f"My friend Cid{self._turn} lives in Oslo.")
        chat.end()
        self.memory.consolidate(chat.id)
        info = {each.id: each for each in self.memory.sessions()}[chat.id]
        self.log(verb="consolidate", session=chat.id, through=info.through)

    def append_history(self) -> None:
        """Write an entry of the notes."""
        entry = self.text()
        self.memory.notes.append_history(entry)
        self.log(verb="append_history", entry=entry)

    def write_memory(self) -> None:
        """Add a line to MEMORY.md, which becomes a fact."""
        notes, line = self.memory.notes, self.text()
        notes.write_memory(f"{notes.read_memory()}\n- {line}\n")
        self.log(verb="write_memory", line=line)

    def import_file(self) -> None:
        """Import a conversation from a file."""
        self._turn += 1
        name = f"import-{self._role.name}-{self._role.life}-{self._turn}"
        said = [{"role": "user", "content": self.text()} for _ in range(3)]
        path = self._folder / f"{name}.json"
        path.write_text(json.dumps(said))
        self.memory.import_(path)
        path.unlink()
        self.log(verb="import", imported=name, count=3)

    def maintain(self) -> None:
        """Run all stages of upkeep."""
        self.memory.maintain(["expire", "enrich", "decay", "reflect"])
        self.log(verb="maintain")


def write(role: Role) -> None:
    """Be a writer, until killed."""
    Writer(role, _opened(role, Log(role.log))).work()


def _opened(role: Role, log: Log) -> Memory:
    """Open the memory of a role; where that fails, log it and try again."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # It warns at each try.
    while True:
        try:
            return open_memory(role.location, role.user)
        except Exception as error:  # noqa: BLE001 - the law is that there is none
            log.tell("open", error)
            time.sleep(0.1)


def search(role: Role, users: list[str]) -> None:
    """Search all the while, for one user after another; log how long each took."""
    log = Log(role.log)
    rng = random.Random(f"{role.seed} {role.name}")  # noqa: S311 - no secret
    with _opened(role, log) as memory:
        memories = [memory.as_user(user) for user in users]
        while True:
            query = f"which {rng.choice(['heron', 'comet', 'violin'])} stands beside the lantern?"
            start, used = time.perf_counter(), time.thread_time()
            try:
                rng.choice(memories).search(query)
                log(seconds=time.perf_counter() - start, cpu=time.thread_time() - used)
            except Exception as error:  # noqa: BLE001 - the law is that there is none
                log.tell("search", error)
            time.sleep(0.02)


def warm_up() -> None:
    """Do once what a writer does, so that those forked later need not load and compile it all."""
    with suppress(ImportError):
        import_module("memoranda.store.postgres")
    folder = Path(os.environ["TMPDIR"])
    role = Role(":memory:", "warm", "warm", 0, folder / "warm.log", 0)
    with open_memory(role.location, role.user) as memory:
        writer = Writer(role, memory)
        for verb in (writer.remember, writer.remember, writer.remember, *writer._verbs):  # noqa: SLF001 - our own
            verb()
        memory.search("heron")
    role.log.unlink()
