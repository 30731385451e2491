"""Moving memory in and out loses nothing, adds nothing twice, and refuses what is broken."""

import json
import stat
from contextlib import suppress
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from file_samples import START, every, exported, opened, prune, receipts, talk, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import User
from steps import carry_out, do

from memoranda.errors import InvalidInput, StoreError
from memoranda.model.changes import AuditTrail
from memoranda.model.models import ConversationInfo, Image, Message, PrunedSpan, Pruning, Record
from memoranda.model.sessions import AgentSession, ErasedRecord
from memoranda.transfer.archive import FORMER


def fill(memory):
    """One of everything: each change that a store knows, an odd text, all fields of a message."""
    user = User(memory._services.store, memory._scope)
    for each in (user, user.planner):
        each.apply(*each.prepare())
    memory.remember(
        "Noa lives in Ghent\u2028\r\n\tnow \U0001f408",
        tags=["home", "city"],
        metadata={"deep": [1, {"ü": None}], "b": 1.0},
        event_time=START - timedelta(days=3, milliseconds=1),
        session="s1",
        role="user",
        confidence=0.7,
        decay_rate=0.1,
    )
    chat = memory.conversation("ferry", system="Plan.", model="m", context_limit=9_000)
    first = chat.add("user", "Where is the ferry?", timestamp=START - timedelta(days=1))
    call = {"id": "c1", "function": {"name": "look", "arguments": '{"q": "ferry"}'}}
    chat.add("assistant", "", tool_calls=[call])
    chat.add("tool", "Quay 4", tool_result="c1")
    chat.pin(first.id)
    chat.clear()
    chat.add("assistant", "At quay 4.")
    seen = (Image("https://example.org/quay.png"), Image("data:image/png;base64,AA==", "low"))
    user.say("ferry", "", images=seen, task="Find the quay", importance=0.25, tokens=900)
    prune(memory, "ferry", (0, 2, "Where and at which quay \u2028 the ferry is."), (4, 4, None))
    prune(memory, "ferry")
    chat.add("user", "Never mind.")
    chat.pop()
    chat.end()
    memory.conversation("empty")


def test_round_trip_gives_the_same_lines(tmp_path):
    """Export, import into another store and another user, export: the same but the header.

    An export read again, and into the memory it came from, skips every line.
    """
    with opened() as one, opened(user="ana") as two:
        fill(one)
        lines = exported(one, tmp_path / "one")
        report = one.export(tmp_path / "noa.jsonl")
        back = two.import_(tmp_path / "noa.jsonl")
        assert exported(two, tmp_path / "two")[1:] == lines[1:]
        assert (report.records, report.messages) == (back.records, back.messages)
        assert report.conversations == len(one.conversations())
        shown = ["At quay 4.", ""]
        assert [item.content for item in two.conversation("ferry").messages] == shown
        assert talk(two, "ferry") == talk(one, "ferry")
        assert receipts(two, "ferry") == receipts(one, "ferry") != []
        assert two.verify() == []
        for memory in (one, two):
            again = memory.import_(tmp_path / "noa.jsonl")
            told = (again.records, again.messages, again.skipped)
            assert told == (0, 0, back.records + back.messages)
            assert exported(memory, tmp_path / "two")[1:] == lines[1:]


def test_an_export_holds_every_field(tmp_path):
    """No field that is not counted is left out; the header alone names the user.

    The order of the lines says which position a message has.
    """
    with opened() as memory:
        fill(memory)
        header, *lines = exported(memory, tmp_path / "one")
    by_type = {line["type"]: set(line) - {"type", "conversation"} for line in lines}
    trail = {field.name for field in fields(AuditTrail)}
    assert (
        by_type["record"]
        == {field.name for field in fields(Record)} - {"user", "enriched_at"} | trail
    )
    assert by_type["message"] == {field.name for field in fields(Message)} - {"position"}
    assert by_type["pruning"] == {field.name for field in fields(Pruning)}
    assert "tombstone" not in by_type
    told = {field.name for field in fields(ConversationInfo)} | {"agent"}
    assert by_type["conversation"] == told - {"messages", "start", "revision"}
    cut = next(line for line in lines if line["type"] == "pruning")["cuts"][0]
    assert set(cut) == {field.name for field in fields(PrunedSpan)}
    assert header["format"] == "memoranda"
    for kind, kept in (("session", AgentSession), ("erased", ErasedRecord)):
        assert by_type[kind] == {field.name for field in fields(kept)}
    assert by_type["decision"] == {"name", "target"}
    assert (header["version"], header["user"]) == (4, "noa")
    assert datetime.fromisoformat(header["exported_at"]).tzinfo is not None
    assert all(line["created_at"].endswith("Z") for line in lines if line["type"] == "record")


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=5))
def test_any_text_survives_the_round_trip(tmp_path, texts):
    """Whatever is said, tagged and named, its export can be read back to the same lines."""
    path = tmp_path / "noa.jsonl"
    path.unlink(missing_ok=True)
    with opened() as one, opened() as two:
        for text in texts:
            one.remember(text, session=text, tags=[text], metadata={text: text})
            one.conversation(text, system=text).add("user", text, task=text)
        one.export(path)
        two.import_(path)
        assert exported(two, tmp_path / "two")[1:] == exported(one, tmp_path / "one")[1:]


def test_what_was_never_read_is_not_passed_over(tmp_path):
    """A session of which the store had episodes of its own waits, for these to be read."""
    with opened() as one, opened() as two:
        one.remember("hers", kind="episode", session="s")
        read = do.advance_session("s", through=0, at=one._services.clock.now(), finished=True)
        carry_out(one._services.store, one._scope, [read])
        one.export(tmp_path / "noa.jsonl")
        two.remember("own", kind="episode", session="s")
        two.import_(tmp_path / "noa.jsonl")
        (session,) = two._services.store.sessions(two._scope).values()
        assert (session.through, session.consolidated_at) == (-1, None)


def test_import_goes_on_where_it_was_cut_short(tmp_path):
    """After a failure between two batches, importing again gives the whole.

    Progress is told for each batch; how much there is in all nobody knows before.
    """
    many, told = [f"note {number}" for number in range(1_200)], []
    with opened() as one, opened() as two:
        one.remember_many(many)
        one.export(tmp_path / "noa.jsonl")

        def fail(done, total):
            told.append((done, total))
            if done >= 1_000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            two.import_(tmp_path / "noa.jsonl", progress=fail)
        assert len(every(two)) == 1_000
        assert told == [(500, 0), (1_000, 0)]
        report = two.import_(tmp_path / "noa.jsonl")
        assert (report.records, report.skipped) == (200, 1_000)
        assert [record.content for record in every(two)] == many


def test_ids_of_another_user_are_refused(tmp_path):
    """What belongs to one user of a store cannot be taken over, or be changed, by another."""
    with opened() as noa:
        fill(noa)
        noa.export(tmp_path / "noa.jsonl")
        before = exported(noa, tmp_path / "one")[1:]
        ana = noa.as_user("ana")
        lines = (tmp_path / "noa.jsonl").read_text().split("\n")
        only_talk = [line for line in lines if '"type":"record"' not in line]
        for path in (tmp_path / "noa.jsonl", written(tmp_path, "talk.jsonl", *only_talk)):
            with pytest.raises(InvalidInput, match=r"export of 'noa'.* another user of this store"):
                ana.import_(path)
        assert every(ana) == []
        assert ana.conversations() == []
        assert exported(noa, tmp_path / "one")[1:] == before


def test_what_was_imported_for_a_wrong_user_says_so_and_where_it_is(tmp_path):
    """An export that another user was given tells whose it was; its own user hears why not."""
    with opened() as noa, opened(user="ana") as ana:
        noa.remember("I row")
        noa.export(tmp_path / "noa.jsonl")
        report = ana.import_(tmp_path / "noa.jsonl")
        assert report.left_out == ("its user, 'noa': all that it holds is now of 'ana'",)
        own = ana.as_user("noa")
        with pytest.raises(InvalidInput, match="another user of this store"):
            own.import_(tmp_path / "noa.jsonl")
        ana.admin.delete_user("ana")
        assert own.import_(tmp_path / "noa.jsonl").left_out == ()
        assert [each.content for each in every(own)] == ["I row"]


def test_an_agent_exports_what_it_sees_and_imports_as_itself(tmp_path):
    """Records of another agent stay out of an export; imported ones become the agent's own."""
    with opened() as memory, opened(agent="cook") as cook:
        memory.remember("of nobody")
        memory.as_user("noa", agent="coach").remember("of the coach")
        memory.as_user("noa", agent="banker").remember("of the banker")
        coach = memory.as_user("noa", agent="coach")
        coach.export(tmp_path / "coach.jsonl")
        cook.import_(tmp_path / "coach.jsonl")
        assert [(item.content, item.agent) for item in every(cook)] == [
            ("of nobody", None),
            ("of the coach", "cook"),
        ]


def test_an_export_is_private_and_never_half_there(tmp_path):
    """The file has mode 0600; nothing is overwritten, and a failure leaves nothing behind."""
    with opened() as memory:
        fill(memory)
        path = tmp_path / "noa.jsonl"
        memory.export(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before = path.read_bytes()
        with pytest.raises(InvalidInput, match="exists already"):
            memory.export(path)
        assert path.read_bytes() == before
        with pytest.raises(InvalidInput, match="cannot be written"):
            memory.export(tmp_path / "nowhere" / "noa.jsonl")
    with pytest.raises(StoreError):
        memory.export(tmp_path / "closed.jsonl")
    assert [entry.name for entry in tmp_path.iterdir()] == ["noa.jsonl"]


# Plain lines


def test_plain_lines_are_what_remember_takes(tmp_path):
    """Each line becomes a record with all of its arguments, in order."""
    path = written(
        tmp_path,
        "notes.jsonl",
        {"content": "Biscuit is a cat", "tags": ["pet"], "metadata": {"n": 1}},
        "",
        {
            "content": "Boxes packed",
            "kind": "episode",
            "session": "move",
            "role": "user",
            "event_time": "2026-03-02T18:05:00+01:00",
        },
        '"only a text"',
    )
    with opened() as memory:
        report = memory.import_(path)
        first, second, third = every(memory)
    assert (report.format, report.records, report.users) == ("memoranda", 3, ("noa",))
    assert (first.content, first.tags, first.metadata) == ("Biscuit is a cat", ("pet",), {"n": 1})
    assert (second.kind, second.session_id, second.source_role) == ("episode", "move", "user")
    assert second.event_time == START
    assert (third.content, third.origin) == ("only a text", "import:memoranda")


def test_plain_lines_are_added_once(tmp_path):
    """The same line is the same record; repeats of an episode count."""
    lines = [
        {"content": "ok", "session": "s", "kind": "episode"},
        {"content": "ok", "session": "s", "kind": "episode"},
        {"content": "ok", "session": "t"},
        {"content": "ok", "event_time": "2026-03-02T18:05:00+01:00"},
        {"content": "ok", "event_time": "2026-03-02T17:06:00Z"},
    ]
    with opened() as memory:
        memory.import_(written(tmp_path, "notes.jsonl", *lines))
        more = memory.import_(written(tmp_path, "more.jsonl", *lines, lines[0], {"content": "new"}))
        assert (more.records, more.skipped) == (2, 5)
        assert len(every(memory)) == 7


def test_an_export_of_version_0_2_is_read(tmp_path):
    """A file that the version before this one wrote says the same after it was read."""
    path = Path(__file__).parent / "export_0_2.jsonl"
    with opened() as memory:
        report = memory.import_(path)
        assert (report.records, report.messages) == (14, 5)
        assert memory.verify() == []
        again = exported(memory, tmp_path / "again")
    before = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    kept = [line for line in before[1:] if line["type"] not in FORMER]
    for cut in (cut for line in kept for cut in line.get("cuts", ())):
        del cut["score"], cut["torn"]  # Withdrawn since.
    for line in kept:
        line.pop("tries", None), line.pop("unread", None)
    assert [at_once(line) for line in again[1:]] == [at_once(line) for line in kept]


def at_once(value):
    """A value of JSON with its times as moments, however they are written."""
    match value:
        case dict():
            return {key: at_once(inner) for key, inner in value.items()}
        case list():
            return [at_once(inner) for inner in value]
        case str() if value.endswith("Z"):
            with suppress(ValueError):
                return datetime.fromisoformat(value)
    return value
