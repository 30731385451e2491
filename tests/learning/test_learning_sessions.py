"""The life of a session: seen, waiting, read page by page, done, and waiting again."""

from threading import Event

import pytest
from learning_talks import (
    DAY,
    PATIENCE,
    START,
    clock_of,
    contents,
    fact,
    facts,
    remembering,
    settled,
    tables,
    talk,
    watched,
)
from tables import each_row

from memoranda import Settings
from memoranda.errors import NotFound, StoreError
from memoranda.learning.consolidation_queue import ConsolidationQueue
from memoranda.learning.consolidation_queue import ConsolidationRequest as Request
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.model.changes import Insert
from memoranda.model.models import Scope
from memoranda.testing.models import ScriptedLLM

AUTOMATIC = Settings(timezone="UTC")
PORTO = "I live in Porto."
DOG = "I have a dog named Rex."
NUTS = "I'm allergic to peanuts."


@pytest.fixture
def learning():
    """Ana's memory, which learns by itself."""
    with remembering(settings=AUTOMATIC) as made:
        yield made


def state(memory, session):
    """Return how far one session is."""
    (found,) = [item for item in memory.sessions() if item.id == session]
    return found


def meanwhile(memory, deed):
    """Have something done after this memory has planned, and before it has written."""
    store = watched(memory)
    plain = store.write

    def late(scope):
        store.write = plain
        deed()
        return plain(scope)

    store.write = late


def test_a_session_is_registered_when_first_seen(memory):
    """Seed 004: the first message registers the session, with the moment; nothing was read."""
    talk(memory, "one", "Hello there.", PORTO)
    assert state(memory, "one").first_seen_at == START
    assert (state(memory, "one").consolidated_at, state(memory, "one").through) == (None, -1)
    assert [item.id for item in memory.sessions(pending=True)] == ["one"]
    assert memory.stats().pending_sessions == 1


def test_a_new_session_has_the_older_ones_read_and_not_itself(learning):
    """Seed 004, session switch: older sessions become facts in the background.

    Episodes that a program stores itself switch sessions as messages do.
    """
    talk(learning, "one", PORTO)
    settled(learning)
    talk(learning, "two", DOG)
    settled(learning)
    assert contents(learning) == ["The user lives in Porto."]
    learning.remember(NUTS, kind="episode", session="three", role="user")
    settled(learning)
    assert [item.id for item in learning.sessions(pending=True)] == ["three"]
    assert contents(learning) == ["The user lives in Porto.", "The user's dog is called Rex."]
    learning.remember("Hello.", kind="episode", session="four", role="user")
    settled(learning)
    assert "The user is allergic to peanuts." in contents(learning)


def test_end_waits_for_the_facts(learning):
    """When ``end`` returns, what was said is known."""
    talk(learning, "one", PORTO).end()
    assert contents(learning) == ["The user lives in Porto."]
    assert state(learning, "one").consolidated_at == clock_of(learning).now()


def test_without_automatic_nothing_is_learned_by_itself(memory):
    """``consolidation.automatic = false``: neither a switch nor an end reads anything."""
    talk(memory, "one", PORTO).end()
    talk(memory, "two", DOG).end()
    settled(memory)
    assert facts(memory) == []
    report = memory.consolidate()
    assert (report.count, report.counts["sessions"]) == (2, 2)
    assert memory.sessions(pending=True) == []


def test_a_session_that_goes_on_waits_again_and_only_the_new_is_read(memory):
    """What was read is not read again: the facts of the first part get no second source."""
    chat = talk(memory, "one", PORTO)
    memory.consolidate()
    chat.add("user", DOG)
    last = memory.records(kind="episode")[-1]
    assert [item.through for item in memory.sessions(pending=True)] == [0]
    store = watched(memory)
    report = memory.consolidate()
    assert (report.counts["facts"], report.counts["credited"]) == (1, 0)
    assert [action.through for action in store.read] == [last.position]
    assert len(fact(memory, "Porto").source_ids) == 1


def test_a_session_is_read_in_pages_each_in_one_transaction(memory):
    """Seed 004: 30 turns at a time; 75 turns are three pages, with what they say in each."""
    lines = [("assistant", f"Number {number} is noted.") for number in range(75)]
    lines[10], lines[40], lines[74] = PORTO, DOG, NUTS
    talk(memory, "long", *lines)
    store = watched(memory)
    assert memory.consolidate().count == 3
    done = [(action.through, action.after, action.finished) for action in store.read]
    assert done == [(29, -1, False), (59, 29, False), (74, 59, True)]
    assert [sum(isinstance(each, Insert) for each in plan) for plan in store.plans] == [1, 1, 1]


def test_a_failure_between_pages_loses_no_page_and_doubles_none(memory):
    """A page that could not be written waits; the pages before it are not read again."""
    lines = [("assistant", "Noted.")] * 70
    lines[0], lines[35], lines[69] = PORTO, DOG, NUTS
    talk(memory, "long", *lines)
    store = watched(memory, failing={1: StoreError("the disk is gone")})
    report = memory.consolidate()
    assert "the disk is gone" in report.failed["long"]
    assert report.counts["facts"] == len(facts(memory)) == 1
    assert len(report.actions) == 1
    assert state(memory, "long").through == 29
    assert memory.consolidate().counts["facts"] == 2
    assert [action.after for action in store.read] == [-1, 29, 59]
    assert all(len(item.source_ids) == 1 for item in facts(memory))


def test_one_session_that_fails_keeps_no_other_from_being_read(memory):
    """The report names what failed; it waits, and all else is done. An unknown name is told."""
    for name, line in (("one", PORTO), ("two", DOG), ("three", NUTS)):
        talk(memory, name, line)
    watched(memory, failing={1: StoreError("not now")})
    report = memory.consolidate()
    assert (set(report.failed), report.counts["sessions"]) == ({"two"}, 2)
    assert [item.id for item in memory.sessions(pending=True)] == ["two"]
    with pytest.raises(NotFound, match="no session 'nope'"):
        memory.consolidate("nope")


def test_reading_twice_changes_nothing(tmp_path):
    """Consolidating what was consolidated leaves every table as it is."""
    path = tmp_path / "memory.db"
    with remembering(path) as memory:
        talk(memory, "one", PORTO, DOG)
        talk(memory, "two", "I live in Lisbon now.", DOG)
        memory.consolidate()
        memory.derive()
        before = tables(path)
        clock_of(memory).advance(DAY)
        report = memory.consolidate()
        named = memory.consolidate("one")
        assert (report.count, report.counts["sessions"], named.count) == (0, 0, 0)
        assert tables(path) == before


def test_of_two_processes_at_one_session_one_learns_it(tmp_path):
    """A page that another process has read meanwhile is neither stored nor reported."""
    path = tmp_path / "memory.db"
    with remembering(path) as one, remembering(path) as other:
        talk(one, "s", PORTO, DOG)
        meanwhile(one, other.consolidate)
        report = one.consolidate()
        assert (report.count, report.failed, report.lines) == (0, {}, ())
        assert len(facts(one)) == 2
        assert all(len(item.source_ids) == 1 for item in facts(one))


def test_what_is_erased_while_it_is_read_becomes_no_fact(tmp_path):
    """Law 7: a plan that rests on what is gone by now is not stored; the rest is learned later."""
    path = tmp_path / "memory.db"
    with remembering(path) as one, remembering(path) as other:
        talk(one, "s", PORTO, DOG)
        said = other.records(kind="episode")[0].id
        meanwhile(one, lambda: other.forget(said, erase=True))
        report = one.consolidate()
        assert "was erased" in report.failed["s"]
        assert (report.count, facts(one)) == (0, [])
        assert one.consolidate().count == 1
        assert contents(one) == ["The user's dog is called Rex."]
        assert one.verify() == []


def test_what_takes_the_place_of_what_was_erased_is_read(memory):
    """Its position in the session counts as read only where it was read."""
    talk(memory, "a", PORTO, "Well, hello there.")
    last = memory.records(session="a", newest_first=True, limit=1)[0]

    def replace_last():
        memory.forget(last.id, erase=True)
        memory.conversation("a").add("user", DOG)

    meanwhile(memory, replace_last)
    for _ in range(2):
        memory.consolidate()
    assert "The user's dog is called Rex." in contents(memory)


def test_facts_of_an_agents_talk_stay_the_agents(memory):
    """What was said to one agent is learned for it alone, whoever has it consolidated."""
    tutor = memory.as_user("ana", agent="tutor")
    coach = memory.as_user("ana", agent="coach")
    talk(tutor, "lesson", DOG)
    talk(memory, "open", PORTO)
    memory.consolidate()
    assert fact(memory, "Rex").agent == "tutor"
    assert fact(memory, "Porto").agent is None
    assert contents(tutor) == ["The user lives in Porto.", "The user's dog is called Rex."]
    assert contents(coach) == ["The user lives in Porto."]
    assert coach.sessions(pending=True) == tutor.sessions(pending=True) == []


def test_an_agents_private_talk_changes_no_fact_of_others(memory):
    """What only one agent heard retires nothing that the others go by; what it repeats counts."""
    talk(memory, "open", PORTO, DOG)
    memory.consolidate()
    clock_of(memory).advance(DAY)
    talk(memory.as_user("ana", agent="tutor"), "private", "I live in Lisbon now.", DOG)
    memory.consolidate()
    coach = memory.as_user("ana", agent="coach")
    seen = fact(coach, "Porto")
    assert (seen.superseded_by, seen.confidence) == (None, fact(coach, "Rex").confidence)
    assert len(fact(coach, "Rex").source_ids) == 2
    assert any("Lisbon" in text for text in contents(memory.as_user("ana", agent="tutor")))


def test_what_one_agent_heard_is_not_told_to_understand_another_by():
    """Agents in one session: of each other's turns neither facts nor context are drawn."""
    model = ScriptedLLM({ClaimsAnswer: ClaimsAnswer([])})
    with remembering(llm=model) as memory:
        for _ in range(2):
            for agent, text in (("tutor", "Tom is ill."), ("coach", "Hm."), (None, "It rains.")):
                own = memory.as_user("ana", agent=agent)
                own.remember(text, kind="episode", session="s", role="user")
            memory.consolidate()
        prompts = [asked.prompt for asked in model.asked]
        told = [("Tom" in prompt, "Hm." in prompt) for prompt in prompts]
        assert told == [(True, False), (False, True), (False, False)] * 2
        assert all("It rains." in prompt for prompt in prompts[3:])


def test_subscribers_hear_of_new_facts_of_their_user_alone(learning):
    """``remembered`` is told for each new fact, and not for what is said again."""
    heard, others = [], []
    learning.on("remembered", lambda event: heard.append(event.subject))
    bo = learning.as_user("bo")
    bo.on("remembered", lambda event: others.append(event.subject))
    talk(bo, "b", "I live in Rome.").end()
    talk(learning, "one", PORTO).end()
    talk(learning, "two", PORTO, DOG).end()
    told = [item for item in heard if item.kind == "fact"]
    dog = "The user's dog is called Rex."
    assert [item.content for item in told] == ["The user lives in Porto.", dog]
    assert {item.user for item in heard} == {"ana"}
    assert [item.content for item in others if item.kind == "fact"] == ["The user lives in Rome."]


def test_what_waits_when_a_memory_is_closed_is_read_next_time(tmp_path):
    """Work that was only asked for is not lost: the session stays pending in the store."""
    path = tmp_path / "memory.db"
    with remembering(path) as memory:
        talk(memory, "one", PORTO)
    with remembering(path, settings=AUTOMATIC) as memory:
        talk(memory, "two", "Hello.")
        settled(memory)
        assert contents(memory) == ["The user lives in Porto."]


def test_the_queue_does_one_thing_at_a_time_and_each_request_once():
    """Seed 002: sequential; a request that waits already is not done twice."""
    queue, begun, done = ConsolidationQueue(), [], []
    gate, started = Event(), Event()

    def work(name):
        def run(_stop):
            begun.append(name)
            started.set()
            assert gate.wait(PATIENCE)
            done.append(name)

        return run

    first, second = Request(Scope("ana"), "1"), Request(Scope("ana"), "2")
    queue.ask(first, work("first"))
    assert started.wait(PATIENCE)
    for _ in range(3):
        queue.ask(second, work("second"))
    assert not queue.wait(0.01)
    assert begun == ["first"]
    gate.set()
    assert queue.wait(PATIENCE)
    assert begun == done == ["first", "second"]
    queue.close()
    queue.ask(first, work("late"))
    assert queue.wait(PATIENCE)
    assert "late" not in begun


def test_of_sessions_to_be_spared_the_newest_counts():
    """A request that still waits when the next session begins would read what goes on now."""
    queue, done, gate = ConsolidationQueue(), [], Event()
    ana, bo = Scope("ana"), Scope("bo")
    queue.ask(Request(ana, "busy"), lambda _stop: gate.wait(PATIENCE))
    kept = [Request(bo, but="one"), Request(ana, "ended"), Request(ana, but="two")]
    for request in (Request(ana, but="one"), *kept):
        queue.ask(request, lambda _stop, request=request: done.append(request))
    gate.set()
    assert queue.wait(PATIENCE)
    queue.close()
    assert set(done) == set(kept)


def test_work_that_fails_does_not_end_the_queue(caplog):
    """Any failure is logged, and what is asked for next is done."""
    queue, done = ConsolidationQueue(), []
    queue.ask(Request(Scope("ana"), "1"), lambda _stop: 1 / 0)
    queue.ask(Request(Scope("ana"), "2"), lambda _stop: done.append(2))
    assert queue.wait(PATIENCE)
    queue.close()
    assert done == [2]
    assert "failed" in caplog.text


@each_row("turns", [1, 30, 31])
def test_any_number_of_turns_is_read_to_its_end(turns):
    """A session whose last page is full is done, too."""
    with remembering() as memory:
        talk(memory, "one", *[("assistant", "Noted.")] * (turns - 1), PORTO)
        memory.consolidate()
        assert (state(memory, "one").through, memory.sessions(pending=True)) == (turns - 1, [])
        assert contents(memory) == ["The user lives in Porto."]
