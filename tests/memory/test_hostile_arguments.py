"""Arguments of any type and size: every public verb answers, or refuses with an error of ours."""

import inspect
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import reduce
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from effort import examples
from tables import each_row

from memoranda import Conversation, Memory
from memoranda.errors import MemorandaError
from memoranda.maintenance.users import Admin
from memoranda.notes.sync import SyncedNotes
from memoranda.testing.embedders import HashEmbedder

LONG = "x" * 5_000


def within_itself(container, place):
    """Return a list or a dict that holds itself."""
    container[place] = container
    return container


def deep(levels):
    """Return lists, each within another."""
    return reduce(lambda inner, _: [inner], range(levels), [])


# One value of each class; `make torture` tries more of each.
HOSTILE = [
    *(None, True, 10**400, float("nan"), "", "a\0b", "\ud800", LONG, b"\xff"),
    *([None], ["\ud800"], [[["a"]]], set(), iter([1]), {1: 2}, {"a": 10**400}, object()),
    *(datetime(1, 1, 1), datetime.max.replace(tzinfo=UTC), Path("x\0y")),  # noqa: DTZ001 - hostile
    *({"role": "user", "content": None}, [{"role": 5}], [{"a": object()}], BytesIO()),
    *(within_itself({}, "a"), [within_itself([{}], 0)], [{"a": deep(300)}]),
]
if examples(1) > 1:
    HOSTILE += [
        *(0, -1, 2**64, -(10**400), 1.5, float("inf"), 1j, " ", "x", "a/" * 3_000, "..", b"x"),
        *([], [1], ["a\0b"], ["x"] * 3, (), ("a",), range(3), {}, {"a": 1}, {"a": {"gt": 2**64}}),
        *({"\ud800": 1}, {"a": "\ud800"}, datetime.min.replace(tzinfo=UTC), timedelta(1)),
        *(
            Path(f"/{LONG}"),
            [{"role": "user", "content": "hi"}],
            [{"role": "user", "content": [5]}],
        ),
        *({(): 1}, [{(): 1}], [float("nan")], [object()], StringIO(), {"a": deep(300)}),
        [{"role": "user", "content": "hi", "more": deep(300)}],
    ]
# What closes, or runs on in the background; and what is given to other parts of the package alone.
LEFT_OUT = {"close", "run_upkeep", "schedule", "on", "over"}
LEFT_OUT |= {"admin", "notes", "erase_lines", "keep", "rewrite"}
LIMITS = ("strategy", "context_limit", "max_tokens", "max_messages", "keep_recent")
SOUND = {"id": "trip", "query": "tea", "content": "tea", "prompt": "tea?", "role": "user"}
ANY = inspect.Parameter("any", inspect.Parameter.KEYWORD_ONLY)


def verbs(holder):
    """Return the public methods of a class with the names of their arguments."""
    found = []
    for name in (each for each in dir(holder) if each[0] != "_"):
        if name in LEFT_OUT or not callable(verb := getattr(holder, name)):
            continue
        parameters = inspect.signature(verb).parameters.values()
        found += [(name, each.name) for each in parameters if each.name != "self"]
    return found


def call(holder, name, argument, value):
    """Call a verb with one hostile argument; anything but an error of memoranda's is a failure."""
    with suppress(MemorandaError):
        verb = getattr(holder, name)
        parameters = inspect.signature(verb).parameters
        if parameters.get(argument, ANY).kind is inspect.Parameter.VAR_POSITIONAL:
            verb(value)
            return
        given = {
            each.name: SOUND.get(each.name, "x")
            for each in parameters.values()
            if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
        }
        verb(**(given | {argument: value}))


@pytest.fixture(scope="module")
def holders(tmp_path_factory):
    """All objects whose verbs are called, each with something in it."""
    folder = tmp_path_factory.mktemp("hostile")
    with (
        pytest.MonkeyPatch.context() as patch,
        Memory(folder / "memory.db", user="ana", embedder=HashEmbedder()) as memory,
    ):
        patch.chdir(folder)
        memory.remember("Zoe drinks tea")
        chat = memory.conversation("trip")
        chat.add("user", "hello")
        yield {
            "memory": memory,
            "stored": chat,
            "alone": Conversation(),
            "notes": memory.notes,
            "admin": memory.admin,
        }


CLASSES = {"memory": Memory, "stored": Conversation, "notes": SyncedNotes, "admin": Admin}
if examples(1) > 1:
    CLASSES["alone"] = Conversation


@each_row(
    ("name", "verb", "argument"),
    [(name, *each) for name, holder in CLASSES.items() for each in verbs(holder)],
)
def test_any_argument_of_any_verb(holders, name, verb, argument):
    """One argument is of any type or size, the others are sound."""
    for value in HOSTILE:
        call(holders[name], verb, argument, value)


def test_any_argument_of_any_tool(holders):
    """A tool that a model calls answers in words, whatever one of its arguments is."""
    memory = holders["memory"]
    for tool in (*memory.tools(), *memory.consolidator_tools()):
        for argument in tool.parameters["properties"]:
            sound = {each: SOUND.get(each, "x") for each in tool.parameters.get("required", ())}
            for value in HOSTILE:
                with suppress(MemorandaError):
                    assert isinstance(tool.call(sound | {argument: value}), str)


@each_row("value", HOSTILE)
def test_any_argument_of_opening(value, tmp_path, monkeypatch):
    """Nothing that is given to open a memory or a conversation raises an exception of others."""
    monkeypatch.chdir(tmp_path)
    for name in ("location", "user", "agent", "settings", "embedder", "llm", "clock"):
        with suppress(MemorandaError):
            Memory(**({"location": ":memory:"} | {name: value})).close()
    for name in ("system", "model", *LIMITS):
        with suppress(MemorandaError):
            Conversation(**{name: value})
