"""The context overlay: its figures are those of the conversation, and what it changes is kept."""

import re
from datetime import timedelta

from textual.widgets import DataTable

from memoranda.model.models import ToolCall
from memoranda.tui.lists import MOST

SMALL = {"context_limit": 1_200, "keep_recent": 2}


def fill(runtime, clock, turns=12):
    """Talk until messages have left the view."""
    for turn in range(turns):
        runtime.agent.chat.add("user", f"Question {turn} about the house in Porto? " * 3)
        runtime.agent.chat.add("assistant", f"Answer {turn}: " + "word " * 40)
        clock.advance(timedelta(minutes=1))
    assert runtime.agent.chat.prunings


def figures(text):
    """Return the numbers that a text begins its lines of figures with."""
    return {name: int(number.replace(",", "")) for name, number in
            re.findall(r"^\s*(Memory:|in all)\s+([\d,]+)", text, re.MULTILINE)}  # fmt: skip


async def test_the_figures_are_those_of_stats(runtimes, sitting, clock):
    """F2 says how many messages there are, are in context and were pruned, and when (R7.1-R7.4)."""
    runtime = runtimes(conversation=SMALL)
    fill(runtime, clock)
    clock.advance(timedelta(minutes=15))
    receipt = runtime.agent.context().receipt
    stats = runtime.agent.chat.stats()
    assert stats.total_tokens == receipt.tokens
    async with sitting(runtime, size=(80, 40)) as person:
        text = await person.press("f2")
        assert figures(text) == {"Memory:": stats.messages_in_context, "in all": 24}
        assert f"{stats.pruned_messages} pruned" in text
        assert f"last pruning    {stats.last_prune:%Y-%m-%d %H:%M}" in text
        assert "oldest in view  #0, " in text  # The request with which it began.
        assert f"about {receipt.tokens:,} of {receipt.budget:,} tokens" in text
        for line in receipt.included[:1]:
            assert re.search(rf"{line.what} +{line.tokens:,} ", text)
        assert "rolling_window keeps the newest turns that fit" in text


async def test_every_message_has_its_state_and_the_reason(runtimes, sitting, clock):
    """The table has all messages; the one at the cursor says why it is there, and is pinned."""
    runtime = runtimes(conversation=SMALL)
    fill(runtime, clock)
    runtime.agent.context()
    found = runtime.agent.chat.explain()
    async with sitting(runtime, size=(100, 40)) as person:
        await person.press("f2")
        text = await person.press("2")
        rows = re.findall(r"^ *(\d+)\s+\S+ \d\d:\d\d\s+(\w+)\s+(\w+)\s", text, re.MULTILINE)
        assert [(int(place), role, state) for place, role, state in rows] == [
            (line.message.position, line.message.role, line.state.value) for line in found.lines
        ]
        assert "#23 in: " in text
        assert "#0 in: " in await person.press("ctrl+home")  # The first request stays.
        assert "#2 pruned: " in await person.press("down", "down")
        assert "Enter shows what is out there" in " ".join(person.text.split())
        assert "#2 pinned: " in await person.press("p")
        assert runtime.agent.chat.messages[2].pinned
        assert "Question 1 " in str(runtime.agent.context().messages)
        assert "#2 pruned: " in await person.press("p")
        assert not runtime.agent.chat.messages[2].pinned


async def test_a_pruned_span_is_expanded(runtimes, sitting, clock):
    """From a pruned message one comes to all that its marker stands for, word for word."""
    runtime = runtimes(conversation=SMALL)
    fill(runtime, clock)
    runtime.agent.context()
    marker = runtime.agent.chat.explain().markers[0]
    expanded = runtime.agent.chat.expand(marker)
    async with sitting(runtime, size=(120, 60)) as person:
        await person.press("f2", "2")
        await person.press("ctrl+home", "down", "down")
        text = await person.press("enter")
        assert text.lstrip().startswith(f"{len(expanded)} messages from #2 on")
        assert "Question 1 about the house in Porto?" in text
        assert await person.press("escape", "end") != text


async def test_it_is_live(runtimes, sitting):
    """What is added while the overlay is open is in it: calls, and what was cleared, too."""
    runtime = runtimes("hello")
    chat = runtime.agent.chat
    async with sitting(runtime) as person:
        await person.press("f2", "2")
        chat.add("user", "from somewhere else")
        assert "from somewhere else" in await person.press()
        chat.clear()
        chat.add("assistant", "", tool_calls=[ToolCall("c1", "look", '{"at": "it"}')])
        text = await person.press()
        assert 'look({"at": "it"})' in text
        assert "cleared" in text
        assert "waiting" in text


async def test_recall_and_notes_are_shown_with_reasons(runtimes, sitting):
    """The overlay shows what memory recalls for the last message, why, and the notes."""
    runtime = runtimes()
    runtime.memory.remember("Rita lives in Porto", tags=["family"])
    runtime.agent.chat.add("user", "Where does Rita live?")
    async with sitting(runtime) as person:
        await person.press("f2")
        text = await person.press("3")
        assert "Rita lives in Porto" in text
        assert "lexical" in text
        assert text.count("Rita lives in Porto") == 2  # Recalled, and noted.


async def test_what_cannot_be_sent_says_why(runtimes, sitting):
    """Where nothing fits the budget, the overlay says by how much, and the rest is shown."""
    runtime = runtimes(conversation={"context_limit": 100})
    message = runtime.agent.chat.add("user", "word " * 200)
    runtime.agent.chat.pin(message.id)
    async with sitting(runtime) as person:
        assert "more than the budget of 80" in " ".join((await person.press("f2")).split())


async def test_messages_of_a_long_conversation_are_found_by_words(runtimes, sitting):
    """Only the newest are drawn, and the end is followed; words and states find the others."""
    runtime = runtimes()
    roles = ("user", "assistant")
    said = [{"role": roles[at % 2], "content": f"Remark {at}."} for at in range(MOST + 2)]
    runtime.agent.chat.extend(said)
    async with sitting(runtime) as person:
        text = await person.press("f2", "2")
        assert f"Remark {MOST + 1}." in text
        assert person.app.screen.query_one(DataTable).row_count == MOST
        runtime.agent.chat.add("user", "one more")
        assert "one more" in await person.press()
        await person.press("slash", *"remark 1.", "enter")
        assert person.app.screen.query_one(DataTable).row_count == 1
        assert "Remark 1." in person.text
