"""Compares what writers logged as acknowledged with what a store has afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoranda import Memory
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Kind, is_active
from memoranda.model.query import Filter

Line = Mapping[str, Any]
Explain = Callable[[Line], str | None]
"""What the cause of an error was, if it was one that is to be expected."""
# What an erasing that was killed right before its last step leaves, and tells.
TO_PURGE = "erased text may remain"
PAGE = 5_000
UNIQUE = "On page "
"""How each text begins that a writer writes only once."""


@dataclass(slots=True)
class Findings:
    """What the logs of writers tell, and what of it is not true of the store."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)

    def join(self, other: Findings) -> None:
        """Add what another check found."""
        self.acknowledged += other.acknowledged
        self.lost += other.lost
        self.errors += other.errors
        self.explained += other.explained

    def add_error(self, line: Line, explain: Explain) -> None:
        """Add an error of a log, to those that are explained or to the others."""
        told = explain(line)
        if told is None:
            self.errors.append(f"{line['verb']}: {line['error']}")
        else:
            self.explained[told] += 1


def read_log(path: Path) -> list[Line]:
    """Return the lines of a log; the last may have been cut off by the kill."""
    lines = path.read_text("utf-8").split("\n") if path.exists() else [""]
    return [json.loads(line) for line in lines[:-1]]


def unexplained(_: Line) -> None:
    """Explain no error."""


def check_user(
    memory: Memory, logs: Iterable[list[Line]], explain: Explain = unexplained
) -> Findings:
    """Return what of a user's acknowledged writes is not in the memory, and what is there twice."""
    found, stored = Findings(), _Stored(memory)
    for lines in logs:
        erased = {line["begun"] for line in lines if "begun" in line}
        items: dict[str, list[int]] = {}
        for line in lines:
            if "error" in line:
                found.add_error(line, explain)
            elif "begun" not in line:
                found.acknowledged[line["verb"]] += 1
                found.lost += stored.missing(line, erased)
                if "key" in line:
                    items[line["key"]] = line["value"]
        found.lost += stored.older_items(items)
    found.errors += stored.twice()
    return found


class _Stored:
    """What a memory holds, read once."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.records = _all_records(memory)
        self.texts = frozenset(self.records.values())
        self.history = memory.notes.read_history()
        self.sessions = {each.id: each.through for each in memory.sessions()}
        self.items = {each.key: each.content for each in memory.records(kind="item", limit=PAGE)}
        self._chats: dict[str, tuple[set[str], set[str], set[str]]] = {}
        self._said: Counter[str] = Counter()

    def chat(self, id: str) -> tuple[set[str], set[str], set[str]]:
        """Return the ids of the messages of a conversation, of those removed, of its prunings."""
        if id not in self._chats:
            chat = self._memory.stored_conversations.open_existing(id)
            store, scope = services_of(self._memory).store, scope_of(self._memory)
            gone = [each for left in store.tombstones(scope, id) for each in left.messages]
            prunings = {each.id for each in chat.prunings}
            self._chats[id] = ({m.id for m in chat.messages}, {m.id for m in gone}, prunings)
            self._said.update(message.content for message in (*chat.messages, *gone))
        return self._chats[id]

    def twice(self) -> list[str]:
        """Return what was written once and is there twice, acknowledged or not."""
        kept = Counter((key.partition("_")[0], text) for key, text in self.records.items())
        counted = [(f"record {kind}", text, number) for (kind, text), number in kept.items()]
        counted += [("message", text, number) for text, number in self._said.items()]
        return [
            f"{what} is there {number} times: {text!r}"
            for what, text, number in counted
            if number > 1 and text.startswith(UNIQUE)
        ]

    def missing(self, line: Line, erased: set[str]) -> list[str]:
        """Return what of an acknowledgement is not true."""
        wrong: list[str] = []
        texts = line.get("records") or ({line["record"]: line["text"]} if "record" in line else {})
        for key, text in texts.items():
            if key not in erased and self.records.get(key) != text:
                wrong.append(f"{line['verb']}: record {key} is {self.records.get(key)!r}")
        if "erased" in line and (line["erased"] in self.records or line["text"] in self.texts):
            wrong.append(f"erase: record {line['erased']} is still there")
        if "forgotten" in line and self._is_active(line["forgotten"]):
            wrong.append(f"forget: record {line['forgotten']} is believed")
        if "entry" in line and line["entry"] not in self.history:
            wrong.append(f"append_history: {line['entry']!r} is gone")
        if "line" in line and line["line"] not in self.texts:
            wrong.append(f"write_memory: {line['line']!r} is gone")
        if "session" in line and self.sessions.get(line["session"], -2) < line["through"]:
            wrong.append(f"consolidate: {line['session']} is read to a lower place")
        if "imported" in line and len(self.chat(line["imported"])[0]) != line["count"]:
            wrong.append(f"import: {line['imported']} is not whole")
        if "chat" in line:
            wrong += self._missing_messages(line)
        return wrong

    def _is_active(self, id: str) -> bool:
        record = self._memory.get(id)
        return record is not None and is_active(record, datetime.now(UTC))

    def _missing_messages(self, line: Line) -> list[str]:
        messages, removed, prunings = self.chat(line["chat"])
        wrong = [
            f"{line['verb']}: message {each} is in no transcript"
            for each in line.get("messages", ())
            if each not in messages | removed
        ]
        wrong += [
            f"{line['verb']}: message {each} is still there"
            for each in line.get("gone", ())
            if each in messages or each not in removed
        ]
        if "pruning" in line and line["pruning"] not in prunings:
            wrong.append(f"prune: receipt {line['pruning']} is gone")
        return wrong

    def older_items(self, last: Mapping[str, list[int]]) -> list[str]:
        """Return the items that are older than what was acknowledged last."""
        return [
            f"item: {key} is {self.items.get(key)}, and {value} was acknowledged"
            for key, value in last.items()
            if key not in self.items or json.loads(self.items[key]) < value
        ]


def _all_records(memory: Memory) -> dict[str, str]:
    """Return the texts of all records, also of those that are no longer believed."""
    store, scope = services_of(memory).store, scope_of(memory)
    every = store.pages(scope, Filter.at_any_time(kinds=tuple(Kind)))
    return {each.id: each.content for page in every for each in page}


def problems(memory: Memory) -> list[str]:
    """Return what is wrong with a store, but that it asks for a purge, which is then done."""
    if any(TO_PURGE in line for line in memory.verify()):
        services_of(memory).wipe()
    return memory.verify()
