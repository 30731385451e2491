"""Every result shows itself in one readable line."""

import dataclasses
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

import memoranda
from memoranda import Agent, AsyncMemory, Conversation, Memory
from memoranda.conversation.pruning import TaskBoundary
from memoranda.maintenance.audit import Audit
from memoranda.model.models import Marker, Tombstone, Trust
from memoranda.model.short_repr import LONGEST, ShortRepr, hide_password, line_of
from memoranda.notes.sync import SyncedNotes
from memoranda.transfer.porting import PortingReport

LOCAL = {"Audit": Audit, "PortingReport": PortingReport, "SyncedNotes": SyncedNotes}


def classes_in(annotation):
    """Yield the dataclasses of memoranda that an annotation names, however deep."""
    if dataclasses.is_dataclass(annotation):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from classes_in(inner)


def returned():
    """Return the dataclasses that verbs and properties return, and those inside their fields."""
    found = {Marker, Tombstone, TaskBoundary}
    for face in (Memory, Conversation, Agent):
        for name, member in vars(face).items():
            if name.startswith("_"):
                continue
            function = member.fget if isinstance(member, property) else member
            try:
                hints = typing.get_type_hints(function, localns=LOCAL)
            except (TypeError, NameError, AttributeError):
                continue
            found |= set(classes_in(hints.get("return")))
    return sorted(
        {each for each in found if each.__module__.startswith("memoranda.")},
        key=lambda each: each.__name__,
    )


RESULTS = returned()
TEXTS = st.text(max_size=300) | st.just("postgresql://ana:hunter2@host/db\nnext line " * 9)
VALUES = st.one_of(
    st.none(),
    TEXTS,
    st.integers(),
    st.floats(),
    st.datetimes(),
    st.lists(TEXTS),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.sampled_from(Trust),
    st.just(memoranda.Recall("text " * 99, (), 7)),
)


def test_the_exported_results_are_among_them():
    """The law below does not pass for want of classes."""
    names = {each.__name__ for each in RESULTS}
    assert {"Record", "Message", "Hit", "Recall", "Context", "Entity", "ForgetReceipt"} <= names
    assert {"MemoryStats", "ConversationInfo", "StageReport", "Answer", "Change"} <= names


@pytest.mark.parametrize("result", RESULTS, ids=lambda each: each.__name__)
@given(data=st.data())
def test_each_is_one_line_without_passwords(result, data):
    """Law: one line of at most 120 characters, whatever is in the fields."""
    shown = object.__new__(result)
    for field in dataclasses.fields(result):
        object.__setattr__(shown, field.name, data.draw(VALUES))
    line = repr(shown)
    assert issubclass(result, ShortRepr)
    assert len(line) <= LONGEST
    assert line.splitlines() == [line]
    assert line.startswith(f"{result.__name__}(")
    assert "hunter2" not in line


def test_what_is_usual_is_left_out():
    """A hit and a record say what matters first."""
    with Memory(":memory:", user="ana") as memory:
        record = memory.remember("Ana is vegetarian and " + "likes tea, " * 50)
        line = repr(record)
        assert line.startswith(f"Record(id='{record.id}', kind=fact, content='Ana is vegetarian ")
        assert "superseded_by" not in line
        assert repr(memory) == "Memory(location=':memory:', user='ana')"
        assert repr(memory.conversation("trip")) == "Conversation(id='trip')"
        assert repr(Agent(memory)).startswith("Agent(user='ana', session='chat', model=")
    assert repr(AsyncMemory("x.db", user="ana")) == "AsyncMemory(user='ana', open=False)"


def test_an_address_shows_no_password():
    """As a memory on a server has one in its location."""
    line = line_of("Memory", {"location": "postgresql://ana:hunter2@host:5432/db"})
    assert line == "Memory(location='postgresql://ana:…@host:5432/db')"


@each_row(
    "address",
    [
        "postgresql://ana:tiger@host/db",
        "postgresql://ana:ti/g@er@host:5432/db?sslmode=require",
        "postgresql://ana:7/tiger@host",
        "postgresql+psycopg2://ana:tiger@host/db",
        "postgresql://ana@corp:tiger@host/db",
        " PostgreSQL:/ana:tiger@host",
        "postgres:ana:tiger@host/db",
        "openai:qwen3@http://ana:tiger@host/v1",
        "//ana:tiger@host",
        "postgresql://host/db?p%61ssword=tiger&user=ana",
        "postgresql://host/db?password=ti&tiger",
        "host=h password='a tiger",
        r"host=h password=a\ tiger",
    ],
)
def test_no_password_of_an_address_is_shown(address):
    """However it is written, also where nobody could connect to it."""
    assert "tiger" not in hide_password(address)
    assert "…" in hide_password(address)


@each_row(
    "text",
    [
        "postgresql://ana@host:5432/db?application_name=a@b",
        "postgresql://h:5432,i:5432/db?user=ana@corp",
        "openai:qwen3:8b@http://localhost:11434/v1",
        "http://localhost:8000/v1/@x",
        "C:\\memory\\a.db",
        "~/user=ana/agent.db",
    ],
)
def test_what_is_no_password_is_shown(text):
    """Ports, paths, and names of models with signs of an address."""
    assert hide_password(text) == text
