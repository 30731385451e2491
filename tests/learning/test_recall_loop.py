"""The recall loop: what memory told and hears again is use of it, and no news."""

import pytest
from learning_talks import DAY, by_hand, clock_of, facts, remembering, talk
from tables import each_row

PORTO = "The user lives in Porto."
NUTS = "The user is allergic to peanuts."


@pytest.fixture(params=["all", "facts"])
def memory(request):
    """Ana's memory, which knows two facts from an earlier talk; it tells all, or facts alone."""
    chosen = by_hand(retrieval={"recall": request.param})
    with remembering(settings=chosen) as made:
        talk(made, "first", "I live in Porto.", "I'm allergic to peanuts.")
        made.consolidate()
        clock_of(made).advance(DAY)
        yield made


def known(memory):
    """Return each fact with its sources."""
    return {item.content: item.source_ids for item in facts(memory)}


def recalled(memory, prompt="Where do I live?"):
    """Return what memory tells, and the record that it tells first."""
    found = memory.recall(prompt)
    assert "Porto" in found.hits[0].record.content
    return found.text, found.hits[0].record


def used(memory, record):
    """Return how often a record was used."""
    return memory.get(record.id).access_count


ROLES = ["user", "assistant", "tool"]
CALL = {"id": "c1", "type": "function"}
CALL |= {"function": {"name": "search_memories", "arguments": "{}"}}


def say(memory, session, role, text):
    """Let someone say something in a session, as a program hands it over."""
    if role != "tool":
        memory.conversation(session).add(role, text)
        return
    memory.conversation(session).extend(
        [
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": text},
        ]
    )


@each_row("role", ROLES)
@each_row("fenced", [True, False])
def test_a_recalled_block_that_comes_back_is_use(memory, role, fenced):
    """It teaches nothing, is in no episode, and counts once as used; also without its fence."""
    before, (block, told) = known(memory), recalled(memory)
    count, session = used(memory, told), f"{role} {fenced}"
    lines = block if fenced else "\n".join(each for each in block.splitlines() if "- [" in each)
    say(memory, session, role, f"{lines}\n\nWhat is the weather there?")
    memory.consolidate()
    assert known(memory) == before
    assert used(memory, told) == count + 1
    episodes = memory.records(kind="episode", session=session)
    assert episodes[-1].content.strip() == "What is the weather there?"


@pytest.mark.parametrize("role", ROLES)
def test_a_quote_of_what_was_recalled_into_the_talk_is_use(memory, role):
    """The very words of a recalled fact, in any case, are no new evidence."""
    before = known(memory)
    chat = memory.conversation("next")
    chat.add("user", "Hello.")
    told = chat.context("Where do I live?", budget=4_000).recall.hits[0].record
    count = used(memory, told)
    words = told.content.lower().replace("lives", "lives ").replace("live ", "live  ")
    say(memory, "next", role, f"As you said: {words}")
    memory.consolidate()
    assert known(memory) == before
    assert used(memory, told) == count + 1


def test_a_line_that_memory_never_told_is_someones_own(memory):
    """Only lines whose contents are known are taken out; what a person noted stays."""
    own = "- [2026-03-01 10:00, me] The plumber comes at nine."
    memory.conversation("next").add("user", own)
    assert memory.records(kind="episode", session="next")[0].content == own


def test_saying_it_anew_in_ones_own_words_is_evidence(memory):
    """A person who says again what is known, and quotes nobody, credits the fact."""
    chat = memory.conversation("next")
    chat.context("Where do I live?", budget=4_000)
    chat.add("user", "I'm living in Porto.")
    chat.add("user", "I live in Porto, as ever.")
    memory.consolidate()
    assert len(known(memory)[PORTO]) > 1
    assert len(known(memory)[NUTS]) == 1


def test_what_is_used_does_not_fade(memory):
    """A fact that an agent goes on telling is kept fresh by it, and no surer than it was."""
    strength = facts(memory)[0].confidence
    for number in range(20):
        clock_of(memory).advance(3 * DAY)
        block = memory.recall("Where do I live?").text
        memory.conversation(f"day {number}").add("user", f"{block} Hi.")
        memory.decay()
    assert facts(memory)[0].confidence == pytest.approx(strength)
    assert facts(memory)[0].content == PORTO


def test_a_context_does_not_store_what_it_recalls(memory):
    """Asking for a context again and again adds no record."""
    before = memory.stats().records
    chat = memory.conversation("next")
    for _ in range(5):
        chat.context("Where do I live?", budget=4_000)
    assert memory.stats().records == before


LONG = "Remember that I live in Rome, and the plan is: " + ", then ".join(
    f"step {n} of it" for n in range(80)
)


@each_row("content", ["Tea \n\n is   what I  drink:\nI live in Rome.", LONG])
@each_row("fenced", [True, False])
def test_records_that_recall_wrote_otherwise_teach_nothing_either(content, fenced):
    """A record that recall put on one line, or shortened, is no news when its line comes back."""
    with remembering() as memory:
        memory.remember(content, kind="episode", session="old", role="user")
        memory.consolidate()
        before = known(memory)
        block = memory.recall("Where do I live? In Rome?", budget=4_000).text
        assert "Rome" in block
        text = block if fenced else "\n".join(block.splitlines()[2:-1])
        memory.conversation("next").add("user", f"Known:\n{text}\nAnd now?")
        memory.consolidate()
        assert known(memory) == before


def test_asking_the_same_again_and_again_does_not_hide_the_answer():
    """A question that was asked in many sessions is not told to who asks it again."""
    with remembering() as memory:
        talk(memory, "first", "I live in Porto.")
        for number in range(12):
            talk(memory, f"again {number}", "Where do I live, remind me?")
        memory.consolidate()
        assert "Porto" in memory.recall("Where do I live, remind me?").text
