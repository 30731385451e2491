"""One long session: warnings, pruning, the overlays, the end, and the next day."""

from datetime import timedelta

from memoranda.testing.models import ScriptedLLM
from memoranda.tui.chat import describe_pruning

TURNS = 30
SEEN_FROM = 18
LIMITS = {"context_limit": 3_600, "keep_recent": 4, "max_messages": 400}
FACTS = {3: "My sister Rita lives in Porto.", 20: "I'm allergic to peanuts."}


def reply(turn):
    """Answer the last question from what the model is sent, and all else at length."""
    said = str(turn.messages[-1]["content"])
    if "Where does my sister live?" in said:
        sent = "\n".join(str(message["content"]) for message in turn.messages[:-1])
        return "In **Porto**." if "Porto" in sent else "I do not know."
    return "That is good to know. " * 12


async def look_and_change(person, stats):
    """See in the overlays what left the view, pin a message of it, and choose another strategy."""
    runtime = person.runtime
    text = await person.press("f2")
    assert f"{stats.messages_in_context} of {2 * TURNS} messages in context" in text
    await person.press("2", "ctrl+home", *["down"] * 6)
    assert "#6 pruned" in person.text
    assert FACTS[3] in await person.press("e", "pagedown")
    await person.press("escape")
    assert "#6 pinned" in await person.press("p")
    assert FACTS[3] in str(runtime.agent.context().messages)

    await person.press("f3", "/")
    person.app.screen.focused.value = "conversation.strategy"
    await person.press("enter", "enter")
    person.app.screen.focused.value = "hybrid"
    await person.press("enter")
    assert any("this session" in each for each in person.notices)
    assert runtime.agent.chat.messages[6].pinned
    await person.press("escape")


async def test_a_long_day_and_the_next_one(runtimes, sitting, clock):
    """Messages leave the view and are found again, what is changed holds, and facts outlast it."""
    runtime = runtimes(*[reply] * (TURNS + 5), conversation=LIMITS, agent={"memory_window": 200})
    assert isinstance(runtime.model._model, ScriptedLLM)
    said = [FACTS.get(turn, f"Turn {turn} of a long day.") for turn in range(TURNS)]
    for text in said[:SEEN_FROM]:  # Without a screen, which goes on where this ends.
        runtime.process(text, lambda _: None)
        clock.advance(timedelta(minutes=1))
    before, told = set(runtime.agent.chat.prunings), set()
    async with sitting(runtime) as person:
        assert f"session chat goes on with {2 * SEEN_FROM} messages" in person.log
        for text in said[SEEN_FROM:]:
            await person.send(text)
            clock.advance(timedelta(minutes=1))
            told.update(person.newest(6))
        await person.settle()
        chat = runtime.agent.chat
        assert len(chat) == 2 * TURNS
        fresh = [pruning for pruning in chat.prunings if pruning not in before]
        assert fresh
        assert {describe_pruning(pruning) for pruning in fresh} <= told
        assert any("near the limit" in line for line in told)
        stats = chat.stats()
        assert f"{stats.percent_used:.0f} %" in person.lines[-3]
        assert stats.total_tokens <= stats.token_limit

        await look_and_change(person, stats)
        text = await person.say("/new")
        assert "session chat-2 is new" in text
        contents = [fact.record.content for fact in runtime.memory.facts()]
        assert "The user's sister Rita lives in Porto." in contents
    runtime.close()

    clock.advance(timedelta(days=1))
    runtime = runtimes(reply, conversation=LIMITS)
    async with sitting(runtime) as person:
        text = await person.say("Where does my sister live?")
        assert "In Porto." in text
        assert "Rita" in await person.say("/facts")
