"""The other screens: help, conversations, search, facts and notes."""

from memoranda.tui.commands import KEYS, MEANINGS


def unfold(text):
    """Return a text without its line breaks and the blanks around them."""
    return " ".join(text.split())


async def test_help_explains_keys_commands_and_pruning(runtimes, sitting):
    """F1 lists keys and commands, and says how messages are chosen that stay (R7.5)."""
    async with sitting(runtimes(), size=(80, 70)) as person:
        text = unfold(await person.press("f1"))
        for name, meaning in (*KEYS.items(), *MEANINGS.items()):
            assert f"{name} {meaning}" in text
        assert "rolling_window keeps the newest turns that fit" in text
        assert "Ctrl+I, which is Tab in a terminal" in text


async def test_a_conversation_is_found_opened_and_gone_on_with(runtimes, sitting):
    """The history lists conversations; Enter shows one, g goes on in it."""
    runtime = runtimes("Lovely.", "Paris it is.")
    trip = runtime.memory.conversation("trip")
    trip.add("user", "We go to Paris in May.")
    async with sitting(runtime) as person:
        await person.say("hello")
        text = await person.press("f4")
        assert "chat" in text
        assert "trip" in text
        await person.press("/")
        person.app.screen.focused.value = "tri"
        await person.press("enter")
        text = await person.press("enter")
        assert "Conversation trip" in text
        assert "We go to Paris in May." in text
        await person.press("escape")
        assert "session trip goes on with 1 message" in await person.press("g")
        await person.say("Paris, then?")
    assert runtime.agent.chat.id == "trip"
    said = [message.content for message in runtime.memory.conversation("trip").messages]
    assert said == ["We go to Paris in May.", "Paris, then?", "Paris it is."]


async def test_search_shows_why(runtimes, sitting):
    """F5 asks for words and shows hits with their reasons; Enter shows the record whole."""
    runtime = runtimes()
    record = runtime.memory.remember("Rita lives in [b]Porto", tags=["family"])
    runtime.memory.remember("The cat is called Biscuit")
    async with sitting(runtime) as person:
        text = await person.press("f5")
        assert "a question or words" in text
        assert "Type a question or a few words above and press Enter" in text
        text = await person.press(*"where does rita live", "enter")
        assert "Rita lives in [b]Porto" in text
        assert "lexical" in text
        assert "confidence" in await person.press("enter")
        assert record.id in person.text


async def test_facts_are_corrected_confirmed_and_forgotten(runtimes, sitting):
    """E corrects a fact, c believes it for ever, f asks and forgets it; Enter shows its origin."""
    runtime = runtimes()
    fact = runtime.memory.remember("Rita likes [b]figs", confidence=0.5, decay_rate=0.1)
    async with sitting(runtime) as person:
        assert "No facts" in await person.say("/facts Biscuit")
        await person.press("escape")
        text = await person.press("f6")
        assert "0.50" in text
        assert "Rita likes [b]figs" in text
        assert "history" in await person.press("enter")
        await person.press("escape")
        assert "1.00" in await person.press("c")
        assert runtime.memory.get(fact.id).decay_rate == 0
        assert "Correct a fact" in await person.press("e")
        assert person.app.screen.focused.value == "Rita likes [b]figs"
        person.app.screen.focused.value = " "
        assert "content" in await person.press("enter")  # What is wrong is told in place.
        person.app.screen.focused.value = "Rita likes [b]plums"
        text = await person.press("enter")
        assert "Corrected: Rita likes [b]plums" in person.notices[-1]
        assert "Rita likes [b]plums" in text
        assert "figs" in runtime.memory.get(fact.id).content  # It is kept, and believed no more.
        assert "Forget this?" in await person.press("f")
        await person.press("n")
        assert runtime.memory.facts()
        await person.press("f")
        assert "No facts" in await person.press("y")
        assert runtime.memory.facts() == []
        assert any("Forgotten: Rita likes [b]plums" in each for each in person.notices)


async def test_notes_are_read_and_edited(runtimes, sitting):
    """F7 opens MEMORY.md; what is edited there is known, and a line taken out is forgotten."""
    runtime = runtimes()
    runtime.memory.remember("Rita likes figs")
    async with sitting(runtime) as person:
        assert "- Rita likes figs" in await person.press("f7")
        area = person.app.screen.focused
        area.text = area.text.replace("Rita likes figs", "Rita likes plums")
        await person.press("ctrl+s")
        assert person.app.screen is person.app.chat
        contents = [fact.record.content for fact in runtime.memory.facts()]
        assert contents == ["Rita likes plums"]
        await person.press("f7")
        person.app.screen.focused.text = ""
        await person.press("escape")
        assert person.app.screen is person.app.chat
