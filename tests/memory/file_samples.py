"""Memories and files for the tests of import and export."""

import json
from datetime import UTC, datetime, timedelta

from samples import cut, pruning
from steps import carry_out, do

from memoranda.memory import Memory
from memoranda.model.query import Filter
from memoranda.settings.settings import Settings

START = datetime(2026, 3, 2, 17, 5, tzinfo=UTC)
PLAIN = Settings(embedding={"model": "none"}, consolidation={"automatic": False}, timezone="UTC")
ALL = Filter(now=START, retired=True)


class TickingClock:
    """A clock that moves on by seven milliseconds whenever it is asked."""

    def __init__(self):
        """Start on an evening in March."""
        self.moment = START

    def now(self):
        """Return a later moment than before."""
        self.moment += timedelta(milliseconds=7)
        return self.moment


def opened(user="noa", location=":memory:", **more):
    """A memory without a model."""
    return Memory(location, user=user, settings=PLAIN, clock=TickingClock(), **more)


def every(memory):
    """All records of a memory, also those no longer believed."""
    where = Filter(now=datetime.now(UTC), retired=True)
    return memory._services.store.records(memory._scope, where)


def exported(memory, path):
    """The lines of an export, as values."""
    memory.export(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    path.unlink()
    return [json.loads(line) for line in lines[:-1]]


def talk(memory, name):
    """All messages of a conversation, also those cleared from view."""
    return memory._services.store.messages(memory._scope, name, cleared=True)


def receipts(memory, name):
    """The receipts of a conversation's prunings."""
    return memory._services.store.prunings(memory._scope, name)


def prune(memory, name, *parts):
    """Keep the receipt of a pruning of parts of a conversation: from, to, summary."""
    cuts = (cut(first, last, summary=summary) for first, last, summary in parts)
    carry_out(memory._services.store, memory._scope, [do.add_pruning(name, pruning(*cuts))])


def written(folder, name, *values):
    """A file of JSON Lines; texts are written as they are."""
    path = folder / name
    lines = (value if isinstance(value, str) else json.dumps(value) for value in values)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Ghent?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "w", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "Rain"},
    {"role": "assistant", "content": ""},
    {"role": "assistant", "content": "Rain. Take a coat."},
]
