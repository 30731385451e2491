"""The chat of the terminal user interface: answers, commands, and how full the context is."""

import asyncio
import logging
import re

import pytest
from textual.widgets import Markdown

from memoranda.errors import LLMError
from memoranda.model.models import ToolCall
from memoranda.tui.commands import MEANINGS, SCREENS

HOSTILE = "[red]x[/] [@click=app.quit]y[/] \x1b[31mred\x1b[0m \x07bell"
ROOMY = {
    "context_limit": 10_000,
    "budget_share": 1.0,
    "prune_at": 1.0,
    "aggressive_at": 1.0,
    "warn_at": 0.8,
}


class Speaker:
    """A model that says some words and then nothing more until it is stopped."""

    name = "speaker"

    async def ask(self, *_arguments):
        """Fail: it only talks."""
        raise LLMError("it only talks")

    async def chat(self, messages, *, tools=(), on_text=None):
        """Say words and wait."""
        del messages, tools
        on_text("Once upon ")
        on_text("**a time")
        await asyncio.Event().wait()


async def until(person, holds):
    """Let the interface go on until something holds."""
    for _ in range(2_000):
        if holds():
            return
        await person.pilot.pause(0.01)
    pytest.fail(f"it never holds; the screen is\n{person.text}")


async def test_an_answer_is_markdown_when_it_is_complete(runtimes, sitting, monkeypatch):
    """An answer ends as Markdown, with what was called for it in a line before; no link opens."""
    script = (
        ToolCall("c1", "search_memories", '{"query": "Rita"}'),
        "She lives in **Porto**:\n\n- yes",
    )
    opened = []
    async with sitting(runtimes(*script)) as person:
        monkeypatch.setattr(person.app, "open_url", lambda url, **_: opened.append(url))
        text = await person.say("Where does Rita live?")
        assert "> Where does Rita live?" in text
        assert 'called search_memories({"query": "Rita"})' in text
        assert "She lives in Porto:" in text
        assert "• yes" in text
        assert "200 tokens in, 40 out" in text
        (answer,) = person.app.chat.query(Markdown)
        answer.post_message(Markdown.LinkClicked(answer, "https://example.org"))
        await person.settle()
        assert opened == []


async def test_words_come_as_they_are_said_and_keys_stop_them(runtimes, sitting, monkeypatch):
    """The words of an answer are shown before it is complete; what stops it keeps what was said.

    Escape stops an answer, Ctrl+C says how to leave, and Ctrl+Q leaves at once.
    """
    runtime = runtimes("never said")
    monkeypatch.setattr(runtime.agent, "_model", Speaker())
    async with sitting(runtime) as person:

        async def ask():
            person.app.screen.focused.load_text("Tell me a story")
            await person.pilot.press("enter")
            await until(person, lambda: person.app.chat._stream is not None)
            await until(person, lambda: "Once upon **a time" in person.text)

        await ask()
        assert "answering, Esc stops" in person.text
        person.app.screen.focused.load_text("more")
        await person.pilot.press("enter")
        await until(person, lambda: "an answer is under way" in person.log)
        await person.press("escape")
        assert "stopped; what you said is kept" in person.text
        assert "answering" not in person.text
        await person.press("ctrl+c")
        assert "ctrl+q" in person.notices[-1]
        assert person.app.is_running
        await ask()
        await person.pilot.press("ctrl+q")
        assert not person.app.is_running
    said = [message.content for message in runtime.agent.chat.by_role("user")]
    assert said == ["Tell me a story"] * 2


async def test_the_last_stretch_is_there_when_it_opens(runtimes, sitting):
    """Who comes back sees what was said last, as it was shown; without a model memory answers."""
    first = runtimes("It is **blue**.", "I see.")
    async with sitting(first) as person:
        await person.say("My sister Rita lives in Porto.")
        await person.say("What colour is the sky?")
    first.memory.close()
    async with sitting(runtimes()) as person:
        assert "session chat goes on with 4 messages" in person.text
        assert "> What colour is the sky?" in person.text
        assert "I see." in person.text
        assert "It is blue." in person.text
        assert "no language model: memory alone answers" in person.text
        assert "My sister Rita lives in Porto." in await person.say("Where does my sister live?")
        assert "memory alone" in person.lines[-3]


async def test_text_is_never_markup_nor_a_control_sequence(runtimes, sitting):
    """What is said and answered is shown as it is: no markup, no action, no control character.

    A model that fails costs a line, and the talk goes on.
    """
    runtime = runtimes(HOSTILE, LLMError(f"failed: {HOSTILE}"), "Fine now.")
    async with sitting(runtime) as person:
        await person.say(HOSTILE)
        text = await person.say("again")
        for shown in (text, person.log):
            assert "[red]x[/] [@click=app.quit]y[/]" in shown
            assert "\x1b" not in shown
            assert "\x07" not in shown
        assert "error: failed: [red]x[/]" in text
        assert "Fine now." in await person.say("hello again")
        for key in ("f2", "2", "f4", "f5"):
            assert "\x1b" not in await person.press(key)


@pytest.mark.parametrize(
    ("percent", "word", "colour"), [(50, "", None), (82, "near the limit", 3),
                                    (93, "almost full", 1)]
)  # fmt: skip
async def test_the_status_line_warns(runtimes, sitting, percent, word, colour):
    """The status has the tokens of stats(); near the limit it says so in a word and a colour."""
    runtime = runtimes("yes", conversation=ROOMY)
    chat = runtime.agent.chat
    while (stats := chat.stats()).percent_used < percent:
        chat.pin(chat.add("user", "word " * 200).id)  # Pins never leave.
    async with sitting(runtime) as person:
        line = person.lines[-3]
        assert f"~{stats.total_tokens:,} of 10,000 tokens {stats.percent_used:.0f} %" in line
        assert line.endswith(f" %{', ' * bool(word)}{word} · scripted")
        if word:
            (style,) = person.styles(word)
            assert style.bold
            assert style.color.triplet == person.app.ansi_theme.ansi_colors[colour]


async def test_a_warning_and_what_left_the_view_are_told(runtimes, sitting):
    """Where the window fills, a line says so, and another how many messages left the view."""
    sections = {"conversation": {"context_limit": 4_000, "keep_recent": 2}}
    runtime = runtimes(*["word " * 200] * 30, **sections)
    async with sitting(runtime) as person:
        while not runtime.agent.chat.prunings:
            await person.say("And what came of it then? " * 6)
        (pruning,) = runtime.agent.chat.prunings
        count = "1 message" if pruning.messages == 1 else f"{pruning.messages} messages"
        assert f"{count} left the view" in person.log
        assert "F2 shows them" in person.log
        assert re.search(r"context 7\d % full", " ".join(person.log.split()))
    async with sitting(runtime) as person:
        assert "out of view; F2 shows them" in person.log


async def test_clear_asks_first(runtimes, sitting):
    """/clear asks; No changes nothing, Yes takes all messages out of view."""
    runtime = runtimes("hello")
    async with sitting(runtime) as person:
        await person.say("hello there")
        assert "Clear conversation history?" in await person.say("/clear")
        await person.press("enter")  # The harmless answer is chosen.
        assert len(runtime.agent.chat) == 2
        await person.say("/clear")
        # A question waits for its answer.
        assert "Commands and screens" not in await person.press("f1")
        assert "Cleared;" in await person.press("y")
        assert len(runtime.agent.chat) == 0
        assert "session chat is new" in person.text
        assert "hello there" not in person.log


async def test_new_ends_the_session_and_learns_from_it(runtimes, sitting):
    """/new consolidates: what was said is a fact, the next session is empty; so does /end."""
    runtime = runtimes("Noted.", "Hello.")

    def facts():
        return [fact.record.content for fact in runtime.memory.facts()]

    async with sitting(runtime) as person:
        await person.say("I live in Porto.")
        text = await person.say("/new")
        assert "Session ended; learned: 1 fact (you live in Porto)." in text
        assert "session chat-2 is new" in text
        assert facts() == ["The user lives in Porto."]
        assert "I live in Porto." not in person.log
        assert "chat-2" in (await person.say("I have a dog.")).splitlines()[-3]
        person.app.screen.focused.load_text("/end")
        await person.pilot.press("enter")
        await until(person, lambda: not person.app.is_running)
    assert "The user keeps a dog." in facts()
    assert runtime.memory.conversations()[0].ended_at is not None


async def test_commands_open_screens(runtimes, sitting):
    """Each command opens its screen, also by another name; Escape comes back."""
    async with sitting(runtimes()) as person:
        for command, shown in {
            "/context": "1 Budget",
            "/stats": "1 Budget",
            "/?": "Commands",
            "/facts": "Facts",
            "/search Rita": "Rita",
            "/memory": "MEMORY.md",
            "/history": "History",
            "/settings": "Settings",
        }.items():
            assert shown in await person.say(command), command
            assert person.app.screen is not person.app.chat
            await person.press("escape")
            assert person.app.screen is person.app.chat


async def test_an_unknown_command_gets_a_clear_line(runtimes, sitting):
    """What is no command is not sent to a model; what only looks like one is said as it is."""
    assert set(SCREENS) < set(MEANINGS)
    runtime = runtimes("never")
    async with sitting(runtime) as person:
        assert "there is no /claer; did you mean /clear?" in await person.say("/claer")
        assert "/new takes nothing" in await person.say("/new now")
        assert len(runtime.agent.chat) == 0
        await person.say("/exit")
        assert not person.app.is_running


async def test_several_lines_are_one_message(runtimes, sitting):
    """Alt+Enter begins another line; a warning of the library is a line in the chat."""
    runtime = runtimes()
    async with sitting(runtime) as person:
        await person.press("o", "n", "e", "alt+enter", "t", "w", "o", "enter")
        assert runtime.agent.chat.messages[0].content == "one\ntwo"
        logging.getLogger("memoranda.test").warning("[b]the disk is nearly full")
        assert "[b]the disk is nearly full" in await person.press()


async def test_what_fails_in_the_background_is_told_once(runtimes, sitting):
    """However often and in however many parts: a line in the chat, and no notice over it."""
    async with sitting(runtimes()) as person:
        for room in ("learning.consolidator", "services", "entities.pipeline") * 3:
            logging.getLogger(f"memoranda.{room}").warning("%s failed: no answer", room)
        text = await person.press()
        assert text.count("failed: no answer") == 1
        assert person.notices == []


async def test_a_new_session_says_what_to_do(runtimes, sitting):
    """What one can type, and what is remembered so far; who comes back is shown what was said."""
    runtime = runtimes()
    async with sitting(runtime) as person:
        assert "press Enter. For example:" in person.text
        assert "Remembered so far: nothing yet." in person.text
        await person.say("My sister Rita lives in Porto.")
        text = await person.say("/new")
        assert "facts; F6 shows the facts, F7 the notes." in text


async def test_the_screens_fit_without_colour(runtimes, sitting, monkeypatch):
    """With NO_COLOR no screen has a colour that says what no word says.

    A key of another screen opens that one; Escape always comes back to the chat.
    """
    monkeypatch.setenv("NO_COLOR", "1")
    runtime = runtimes("yes", conversation=ROOMY)
    while runtime.agent.chat.stats().percent_used < 82:
        runtime.agent.chat.add("user", "word " * 200)
    async with sitting(runtime) as person:
        assert person.app.no_color
        assert "near the limit" in person.text
        for key in ("f1", "f2", "f3", "f4", "f5", "f6", "f7"):
            assert max(map(len, (await person.press(key)).splitlines())) <= 80
            assert len(person.app.screen_stack) == 3
        await person.press("escape")
        assert person.app.screen is person.app.chat
        assert person.app.screen.focused.id == "prompt"
