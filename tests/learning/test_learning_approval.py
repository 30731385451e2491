"""With ``consolidation.approve`` nothing that was learned is believed before a person keeps it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from learning_talks import DAY, by_hand, clock_of, contents, remembering, talk
from tables import each_row

from memoranda.errors import InvalidInput
from memoranda.learning.claims import Category
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.testing.models import ScriptedLLM

OSLO, LIMA = "The user lives in Oslo.", "The user lives in Lima."


def approving(location=":memory:", *, settings=None, **arguments):
    """Return Ana's memory in which what was learned waits for her."""
    settings = settings or by_hand(consolidation={"approve": True})
    return remembering(location, settings=settings, **arguments)


@pytest.fixture
def memory():
    """Ana's memory in which what was learned waits for her."""
    with approving() as made:
        yield made


def learn(memory, session, *lines):
    """Say lines in a session, and have it consolidated."""
    talk(memory, session, *lines)
    clock_of(memory).advance(DAY)
    return memory.consolidate(session)


def waiting(memory):
    """Return what waits, by what it says."""
    return {each.record.content: each.record for each in memory.facts(waiting=True)}


def test_what_waits_is_found_by_no_reader(memory):
    """Law: no recall, context, note, search, list, count or tool tells of it, at any moment."""
    learn(memory, "s", "I live in Oslo.")
    (held,) = waiting(memory).values()
    chat, later = memory.conversation("t"), clock_of(memory).now() + DAY
    tool = next(each for each in memory.tools() if each.name == "search_memories")
    told = [
        memory.recall("Where do I live?").text,
        str(chat.context("Where does the user live?").messages),
        memory.notes.read_memory(),
        tool(query="lives Oslo", memory_type="fact"),
        *(each.record.content for each in memory.search("lives Oslo", kind="fact")),
        *(each.record.content for each in memory.search("Oslo", kind="fact", as_of=later)),
        *(
            each.record.content
            for each in memory.search("Oslo", kind="fact", as_of=held.created_at)
        ),
        *contents(memory),
        *(each.record.content for each in memory.facts()),
    ]
    assert not [each for each in told if "The user lives" in each]
    assert (memory.count(kind="fact"), memory.stats().records["fact"]) == (0, 0)
    assert memory.verify() == []
    assert [each.state for each in memory.facts(everything=True)] == ["waiting"]


def test_keeping_learns_it_then(memory):
    """What a kept fact takes the place of ends when it is kept; as of before, it was believed."""
    memory.confirm(memory.remember(OSLO).id)
    learn(memory, "s", "I moved to Lima.")
    assert contents(memory) == [OSLO]
    before = clock_of(memory).now()
    clock_of(memory).advance(DAY)
    kept = memory.confirm(waiting(memory)[LIMA].id)
    assert (kept.content, kept.confidence, kept.decay_rate) == (LIMA, 1, 0)
    assert contents(memory) == [LIMA]
    assert not waiting(memory)
    found = memory.search("Where does the user live?", kind="fact", as_of=before)
    assert [each.record.content for each in found] == [OSLO]
    assert memory.history(kept.id)[0].reason == "waits for approval"
    assert kept.source_ids


def test_what_is_kept_late_ends_nothing_that_was_said_since(memory):
    """The order in which a person keeps facts does not count, but when they were said."""
    learn(memory, "one", "I live in Oslo.")
    learn(memory, "two", "I moved to Lima.")
    held = waiting(memory)
    memory.confirm(held[LIMA].id)
    memory.confirm(held[OSLO].id)
    assert contents(memory) == [LIMA]


@each_row
def test_kept_as_it_came_it_is_as_without_waiting(first, then):
    """Law: who keeps all in the order it was said has the same facts, which mean what they meant.

    I live in Oslo. | I moved to Lima.
    I have a Skoda. | I sold the Skoda.
    I'm vegetarian. | I eat meat again.
    My sister Rita lives in Porto. | Rita moved to Braga.
    My wife Dana is a nurse. | Dana is a doctor now.
    My grandmother Ida lives in Ghent. | My grandmother died in March.
    I play the violin. | I gave up the violin.
    I have two children. | I have three children now.
    Ich wohne in Wien. | Ich bin nach Graz gezogen.
    Vivo en Madrid. | Me mudé a Sevilla.
    """
    held = []
    for approve in (False, True):
        with approving(settings=by_hand(consolidation={"approve": approve})) as memory:
            for text in (first, then):
                learn(memory, text, text)
                for each in reversed(memory.facts(waiting=True)):
                    memory.confirm(each.record.id)
            facts = memory.records(kind="fact")
            held.append({(each.content, bool(each.superseded_by)) for each in facts})
    assert held[0] == held[1]


def test_a_person_may_keep_it_in_other_words_or_drop_it(memory):
    """A correction keeps what it says alone; what is forgotten waits no longer and is not back."""
    learn(memory, "s", "I live in Oslo.", "I have a dog named Rex.")
    held = waiting(memory)
    kept = memory.correct(held[OSLO].id, "The user lives in Bergen.")
    assert (kept.attribute, kept.value) == ("home", "Bergen")
    (dog,) = waiting(memory).values()
    memory.forget(dog.id)
    memory.consolidate()
    assert contents(memory) == ["The user lives in Bergen."]
    assert not waiting(memory)
    for over in (dog.id, held[OSLO].id):
        with pytest.raises(InvalidInput, match=r"dropped|took its place"):
            memory.confirm(over)


def test_what_a_person_asked_for_does_not_wait(memory):
    """Requests, corrections and remembered facts are believed at once, as without the setting."""
    learn(memory, "s", "Please remember that my locker is 114.", "I live in Oslo.")
    memory.remember("Ana sings.")
    assert len(contents(memory)) == 2
    assert [*waiting(memory)] == [OSLO]
    talk(memory, "t", "Forget that I live in Oslo.")
    assert not waiting(memory)


def test_a_model_cannot_say_that_a_person_asked_for_it():
    """The category of a model's claim lets nothing by: only rules read what was asked for."""
    claim = ClaimAnswer(OSLO, ["t1"], category=Category.REMEMBER, quote="I live in Oslo")
    model = ScriptedLLM([ClaimsAnswer([claim])])
    with approving(llm=model) as memory:
        learn(memory, "s", "I live in Oslo.")
        assert contents(memory) == []
        assert len(waiting(memory)) == 1


def test_said_again_it_waits_once(memory):
    """A repetition adds its source to what waits, and so does the same page read again."""
    learn(memory, "one", "I live in Oslo.")
    learn(memory, "two", "I live in Oslo.")
    (held,) = waiting(memory).values()
    assert len(held.source_ids) == 2


def test_an_agents_tools_wait_and_cannot_keep(memory):
    """What an agent stores or corrects waits, and its tools confirm nothing that waits."""
    tools = {each.name: each for each in memory.tools()}
    known = memory.remember("Ana rows on Mondays.")
    told = tools["store_memory"](content="Ana has a boat.", valid_until="2030-01-01")
    assert told.startswith("Waits for the user's approval")
    tools["store_memory"](content="Ana has a boat.")
    tools["correct_fact"](memory_id=known.id, content="Ana rows on Tuesdays.")
    held = waiting(memory)
    assert contents(memory) == ["Ana rows on Mondays."]
    for each in held.values():
        assert "waits for a person" in tools["confirm_fact"](memory_id=each.id)
    kept = [memory.confirm(each.id) for each in held.values()]
    assert contents(memory) == ["Ana has a boat.", "Ana rows on Tuesdays."]
    assert {each.valid_until and each.valid_until.year for each in kept} == {None, 2030}
    assert not any("held" in each.metadata for each in kept)


def test_an_agent_that_consolidates_ends_nothing(memory):
    """What it draws waits as all else, and it resolves no conflict."""
    learn(memory, "s", "I live in Oslo.")
    tools = {each.name: each for each in memory.consolidator_tools()}
    (turn,) = memory.records(kind="episode")
    fact = {"content": "The user lives in Oslo now.", "source_ids": [turn.id]}
    tools["save_facts_batch"](session_id="s", facts=[fact])
    old, new = memory.remember(LIMA), memory.remember(OSLO)
    assert "only a person" in tools["resolve_conflict"](old_id=old.id, new_id=new.id)
    assert contents(memory) == [LIMA, OSLO]


def test_upkeep_never_loses_what_waits():
    """However long the queue is not read, and also where what has ended is removed for good."""
    settings = by_hand(consolidation={"approve": True}, retention={"remove": True})
    with approving(settings=settings) as memory:
        learn(memory, "s", "I live in Oslo.")
        clock_of(memory).advance(timedelta(days=2_000))
        memory.maintain()
        memory.rebuild()
        assert [*waiting(memory)] == [OSLO]


def test_it_moves_with_the_memory_and_goes_with_its_source(memory, tmp_path):
    """An export has what waits, which waits again where it is read; erasing a turn erases it."""
    learn(memory, "s", "I live in Oslo.")
    memory.export(tmp_path / "a.zip")
    with approving() as other:
        other.import_(tmp_path / "a.zip")
        assert contents(other) == []
        other.confirm(waiting(other)[OSLO].id)
        assert contents(other) == [OSLO]
    (said,) = memory.records(kind="episode")
    memory.forget(said.id, erase=True)
    assert not waiting(memory)
