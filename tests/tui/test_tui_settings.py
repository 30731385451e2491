"""The settings overlay (R8.5): every setting, and changes for the session or for good."""

import pytest

from memoranda import Memory, Settings
from memoranda.errors import InvalidInput
from memoranda.settings import configure
from memoranda.tui.runtime import ChatRuntime


async def find(person, words):
    """Narrow the settings by words; the first one found is at the cursor."""
    if "Settings" not in person.lines[0]:
        await person.press("f3")
    await person.press("slash")
    person.app.screen.focused.value = words
    return await person.press("enter")


async def change(person, name, value, key="enter"):
    """Change a setting in the overlay; return the screen."""
    await find(person, name)
    await person.press("enter")
    person.app.screen.focused.value = value
    return await person.press(key)


async def test_every_setting_is_there(sitting):
    """The list has each setting under its section, with its value and its source.

    Words narrow it by name and meaning; the setting at the cursor is explained. What an option of
    the command line has set has that as its source.
    """
    given = {"user": ("--user", "ana")}
    runtime = ChatRuntime(lambda settings: Memory(":memory:", settings=settings), given=given)
    async with sitting(runtime, size=(100, 140)) as person:
        text = await person.press("f3")
        for setting in configure.list_settings(runtime.memory.settings):
            assert setting.name in text
        assert "Where the memory is, if the caller does not say." in text
        await person.pilot.resize_terminal(80, 24)
        text = await find(person, "keep_recent")
        assert "How many of the newest messages always stay." in text
        assert "takes whole number, above 0; default 10" in text
        assert "strategy" in await find(person, "what scores highest")
        assert "no setting has that" in await find(person, "xyzzy")
        assert "--user" in await find(person, "user")
    # A memory that lives in the process cannot be opened again; a change is refused, all stays.
    runtime.memory.remember("kept")
    with pytest.raises(InvalidInput, match="cannot be opened again"):
        runtime.save("conversation.window", "3")
    assert runtime.memory.count() == 1
    runtime.memory.close()


async def test_a_change_is_saved_and_holds_at_once(runtimes, sitting, tmp_path):
    """What is changed rules the running agent, on the same session, and every later one."""
    runtime = runtimes("yes")
    async with sitting(runtime) as person:
        await person.say("hello there")
        text = await change(person, "conversation.context_limit", "2000")
        assert "2000" in text
        assert any("config.toml" in each for each in person.notices)
        assert "context_limit = 2000" in (tmp_path / "config.toml").read_text()
        assert runtime.agent.chat.stats().token_limit == 2_000
        assert runtime.memory.settings.conversation.context_limit == 2_000
        assert runtime.agent.chat.id == "chat"
        text = await person.press("escape")
        assert "of 2,000 tokens" in person.lines[-3]
        assert "> hello there" in text
        await change(person, "conversation.strategy", "importance", "ctrl+s")
        await person.press("f2")
        assert "importance keeps what scores highest" in " ".join(person.text.split())
    assert Settings().conversation.context_limit == 2_000


async def test_an_impossible_value_is_refused_in_place(runtimes, sitting, tmp_path):
    """A wrong value is told where it was typed, and changes nothing; Escape leaves it."""
    runtime = runtimes()
    agent = runtime.agent
    async with sitting(runtime) as person:
        for key in ("enter", "ctrl+s"):
            text = await change(person, "conversation.strategy", "[b]best", key)
            assert "conversation.strategy='[b]best' should be" in " ".join(text.split())
            await person.press("escape")
            assert runtime.agent is agent
            assert not (tmp_path / "config.toml").exists()
            assert "Settings" in person.text
            await person.press("escape")


async def test_a_model_is_found_first_and_tried_before_it_is_saved(sitting, monkeypatch, tmp_path):
    """``model`` finds llm.model before all else; one without its key says so, and is not saved."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    runtime = ChatRuntime(
        lambda settings: Memory(
            tmp_path / "agent.db", settings=settings.with_values(embedding={"model": "none"})
        )
    )
    async with sitting(runtime) as person:
        await find(person, "model")
        assert person.lines[3].split()[0] == "llm.model"
        await person.press("enter")
        for key in ("enter", "ctrl+s"):
            person.app.screen.focused.value = "anthropic:claude"
            assert "needs a key: set ANTHROPIC_API_KEY" in await person.press(key)
        assert not (tmp_path / "config.toml").exists()
        assert runtime.agent.model is None
    runtime.memory.close()


async def test_the_environment_is_named(runtimes, sitting, monkeypatch):
    """A saved value that the environment overrides says so; a secret is never shown."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__WINDOW", "3")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__API_KEY", "sesame")
    async with sitting(runtimes()) as person:
        assert "MEMORANDA_C" in await find(person, "conversation.window")
        await person.press("enter")
        person.app.screen.focused.value = "4"
        await person.press("ctrl+s")
        (notice,) = person.notices
        assert "MEMORANDA_CONVERSATION__WINDOW is set in the environment, and wins" in notice
        await find(person, "embedding.api_key")
        assert "sesame" not in person.text + await person.press("enter")
        assert person.app.screen.focused.value == ""
