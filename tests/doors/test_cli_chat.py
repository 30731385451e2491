"""``memoranda chat`` in a pipe: lines in, answers out, with a model and from memory alone."""

import json

import pytest
from model_server import failing, stopping, talked
from tables import each_row

from memoranda import Memory

HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m \x07bell"
LOOKING = ("c1", "search_memories", json.dumps({"query": "Ana"}))
NUMBERS = [f"Number {number} is about cats." for number in range(6)]


@pytest.fixture
def prefix():
    """All commands here are ``memoranda chat``."""
    return ("chat",)


@pytest.fixture
def talk(run):
    """Say lines in a pipe; return what came to standard output."""

    def start(*lines, options=(), code=0):
        return run(*options, stdin="".join(f"{line}\n" for line in lines), code=code)

    return start


@pytest.fixture
def answers(talk):
    """Say lines with --json; return one object for each."""

    def start(*lines, options=(), code=0):
        out = talk(*lines, options=("--json", *options), code=code).stdout
        return [json.loads(line) for line in out.splitlines()]

    return start


@pytest.fixture
def model(server):
    """The options that name a model on the server."""
    return ("--model", server.openai)


def stored(id="chat"):
    """Return what a stored conversation holds: role and text of each message."""
    with Memory() as memory:
        if all(info.id != id for info in memory.conversations()):
            return []
        return [(item.role, item.content) for item in memory.conversation(id).messages]


def facts():
    """Return what is believed."""
    with Memory() as memory:
        return [fact.content for fact in memory.records(kind="fact")]


def test_without_a_model_memory_answers_with_sources(answers):
    """From what was said before, as it was said, with the ids of its records."""
    said = f"My sister Marta lives in Porto, {HOSTILE}."
    answers(said, options=("--session", "one"))
    (found,) = answers("Where does Marta live?", options=("--session", "two"))
    assert "My sister Marta lives in Porto, [red]x[/] :smile:" in found["text"]
    with Memory() as memory:
        assert said in [memory.get(each).content for each in found["sources"]]


def test_a_pipe_gets_plain_text(talk):
    """There is no prompt, no code of a terminal, no greeting; the talk goes in order."""
    out = talk(HOSTILE, "", "/memory").stdout
    assert not any(sign in out for sign in ("\x1b", "\x07", "> "))
    assert out.startswith("Noted")


def test_a_session_goes_on(talk):
    """The next chat goes on in the session of its name, until /new ended it."""
    talk("I have two cats.")
    talk("And a dog.")
    assert [text for role, text in stored() if role == "user"] == ["I have two cats.", "And a dog."]
    assert "Session ended; learned: " in talk("/new", "hello there").stdout
    assert ("user", "hello there") in stored("chat-2")
    talk("something else", options=("--session", "trip"))
    assert stored("trip")[0] == ("user", "something else")


def test_a_model_answers(server, model, talk, answers, monkeypatch):
    """Its words are printed and stored; words before a call stand apart; tools are named."""
    server.play(talked(f"Ana is vegetarian. {HOSTILE}"))
    out = talk("What does she eat?", options=model).stdout
    assert out.startswith("Ana is vegetarian. [red]x[/] :smile: ␛[31mred␛[0m ␇bell\n")
    assert "What does she eat?" in server.received[0].prompt
    assert stored()[-1] == ("assistant", f"Ana is vegetarian. {HOSTILE}")
    server.play(talked("Let me look.", LOOKING), talked("She is vegetarian."))
    assert talk("And Ana?", options=model).stdout == "Let me look.\n\nShe is vegetarian.\n"
    with Memory(user="eva") as memory:
        fact = memory.remember("Ana is vegetarian")
    monkeypatch.setenv("MEMORANDA_NOTES__IN_CONTEXT", "false")  # It is recalled, and not in them.
    server.play(talked("Let me look.", LOOKING), talked("She is vegetarian."))
    (answer,) = answers("What does Ana eat?", options=(*model, "--user", "eva"))
    usage = answer.pop("usage")
    assert (usage["answer"]["requests"], usage["session"]["input_tokens"]) == (2, 200)
    assert usage["background"]["requests"] == 0
    assert answer == (
        {"text": "She is vegetarian.", "tools": ["search_memories"]}
        | {"sources": [fact.id], "requests": []}
    )


def test_a_failure_is_one_line_and_the_talk_goes_on(server, model, talk, answers):
    """What was said is kept, and the next is answered; with --json an object has the error."""
    for act in (failing(400), stopping("Ana is ", "cut")):
        server.play(act, talked("Here I am."))
        result = talk("Are you there?", "And now?", options=model, code=1)
        assert [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert result.stdout.endswith("Here I am.\n")
    assert stored().count(("user", "Are you there?")) == 2
    server.play(failing(400), talked("Here I am."))
    first, second = answers("Are you there?", "And now?", options=model, code=1)
    assert (first["text"], bool(first["error"])) == ("", True)
    assert second["text"] == "Here I am."


def test_a_session_that_waits_is_told(server, model, talk, answers):
    """Where /new could not consolidate, a line says that the rest is done later."""
    server.play(talked("Noted."), failing(401))
    out = talk("I have two cats.", "/new", options=model).stdout
    assert "Session ended. Not consolidated yet: the last messages are kept" in out
    assert "no model was asked since this session began" in talk("/new", "/cost").stdout
    first, second = answers("I have a fish.", "/new", options=("--session", "other"))
    assert "note" not in first | second


@each_row(
    ("line", "told"),
    [
        ("/nope", "there is no /nope; /help lists what there is"),
        ("/memroy", "did you mean /memory?"),
        ("/clear now", "this asks first"),
        *((f"{each} now", "takes") for each in ("/new", "/cost", "/undo")),
        ("/expand nothing", "names no part"),
    ],
)
def test_a_wrong_command_is_one_line_and_never_said(talk, line, told):
    """It is answered with the commands there are, and nothing of it is stored."""
    result = talk(line, code=1)
    assert told in result.output
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert not stored()


def test_a_command_is_read_in_any_case(talk):
    """In any case, or by another name; a path is talk."""
    out = talk("I have two cats.", "/NEW", "/new", "/?", "/etc/hosts is broken here").stdout
    assert out.count("Session ended") == 2
    assert out.endswith("Noted.\n")
    assert all(name in out for name in ("/new", "/context", "Ctrl+D", "Alt+Enter"))
    talk("/exit", "never said")
    assert "never said" not in str(stored("chat-2"))


def test_memory_and_context_are_shown(talk):
    """/memory prints MEMORY.md and its path; /context what a model would be sent, part by part."""
    with Memory() as memory:
        memory.remember("Ana is vegetarian")
        path = memory.notes.folder / "MEMORY.md"
    out = talk("/memory").stdout
    assert "- Ana is vegetarian" in out
    assert str(path) in out
    out = talk("I have two cats.", "/context and a dog").stdout
    assert all(part in out for part in ("of 102,400 tokens", "system prompt", "2 messages"))


def test_clear_needs_a_yes(talk):
    """In a pipe /clear needs --yes; then nothing is in view, and all is still found."""
    assert "--yes" in talk("I have two cats.", "/clear", code=1).stderr
    assert "Cleared;" in talk("/clear --yes").stdout
    assert stored() == []
    with Memory() as memory:
        assert memory.search("cats")


@pytest.fixture
def small_view(monkeypatch):
    """A view of six messages, of which the newest two always stay."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__MAX_MESSAGES", "6")
    monkeypatch.setenv("MEMORANDA_CONVERSATION__KEEP_RECENT", "2")
    monkeypatch.setenv("MEMORANDA_CONVERSATION__PRUNE_FROM", "0")


@pytest.mark.usefixtures("small_view")
def test_what_leaves_the_view_is_told_and_can_be_seen(talk, answers):
    """A line says how many messages left; /expand lists the places, and shows their messages."""
    told = [found.get("note") for found in answers(*NUMBERS)]
    assert told[:3] == [None] * 3
    assert "messages left the view to save space; /expand shows them" in told[3]
    out = talk("/expand").stdout
    whole = talk(f"/expand {out.splitlines()[-1].split()[0]}").stdout
    assert NUMBERS[0] in whole
    assert NUMBERS[-1] not in whole


@pytest.mark.usefixtures("small_view")
def test_stats_are_those_of_the_conversation(talk):
    """/stats tells what is in view, what is not, and the strategy."""
    talk(*NUMBERS)
    out = " ".join(talk("/stats").stdout.split())
    with Memory() as memory:
        figures = memory.conversation("chat").stats()
    assert figures.pruned_messages > 0
    assert f"Memory: {figures.messages_in_context} messages ({figures.pruned_messages} " in out
    assert f"in all {figures.total_messages} messages" in out
    assert "strategy rolling_window" in out


def test_a_window_that_fills_up_is_told(monkeypatch, answers):
    """From 80 % of the window on a line says how full it is."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__CONTEXT_LIMIT", "600")
    monkeypatch.setenv("MEMORANDA_AGENT__SYSTEM", "Be kind.")
    notes = [found.get("note", "") for found in answers(*["tell " * 40] * 12)]
    assert any("% full" in note and "of 600 tokens" in note for note in notes)
    assert any("left the view" in note for note in notes)


def test_end_makes_memory_of_the_session_and_leaves(talk, answers):
    """/end consolidates, the chat is over, and the next one begins a session of its own."""
    said = answers("I live in Porto.", "/end", "never heard")
    assert len(said) == 2
    assert said[-1]["text"] == "Session ended; learned: 1 fact (you live in Porto)."
    assert facts() == ["The user lives in Porto."]
    talk("Hello again.")
    assert ("user", "Hello again.") in stored("chat-2")


def test_new_learns_what_was_cleared(talk):
    """What /clear took out of view becomes memory with /new all the same."""
    out = talk("I live in Porto.", "/clear --yes", "/new").stdout
    assert "Session ended; learned: 1 fact (you live in Porto)." in out
    assert "not consolidated" not in out
    assert facts() == ["The user lives in Porto."]
    with Memory() as memory:
        assert "Porto" in memory.notes.read_memory()
