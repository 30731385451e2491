"""``memoranda chat`` in a pipe: lines in, answers out, with a model and from memory alone."""

import json

import pytest
from model_server import ModelServer, failing, running, said, stopping, talked
from tables import each_row

from memoranda import Memory

HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m \x07bell"


@pytest.fixture(autouse=True)
def _settings(own_machine, monkeypatch):
    """A model server on this machine has no key, and no proxy before it."""
    del own_machine  # Which comes first.
    monkeypatch.setenv("OPENAI_API_KEY", "no-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-secret")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("COLUMNS", "80")


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
def server():
    """A running model server."""
    state = ModelServer(acts=[said("{}")])
    stop = running(state)
    yield state
    stop()


@pytest.fixture(params=["openai", "anthropic"])
def model(request, server):
    """The options that name a model on the server, in either format."""
    return ("--model", getattr(server, request.param))


@pytest.fixture
def stored(tmp_path):
    """Return what a stored conversation holds: role and text of each message."""

    def look(id="chat", user="default"):
        with Memory(tmp_path / "agent.db", user=user) as memory:
            if all(info.id != id for info in memory.conversations()):
                return None
            return [(item.role, item.content) for item in memory.conversation(id).messages]

    return look


def test_without_a_model_memory_answers_with_sources(answers):
    """Without a model a question is answered from what was said before, and names its records."""
    answers("My sister Marta lives in Porto.", options=("--session", "one"))
    (found,) = answers("Where does Marta live?", options=("--session", "two"))
    assert "My sister Marta lives in Porto." in found["text"]
    assert found["command"] is None
    assert found["sources"]
    with Memory() as memory:
        contents = [memory.get(each).content for each in found["sources"]]
    assert "My sister Marta lives in Porto." in contents


def test_a_pipe_gets_plain_text(talk):
    """In a pipe there is no prompt, no code of a terminal, no greeting; the talk goes in order."""
    result = talk(HOSTILE, "", "/memory")
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    assert "> " not in result.stdout
    assert result.stdout.startswith("Noted, and kept in memory.\n")


def test_what_was_said_is_never_markup(answers):
    """Text that looks like markup or codes comes out as it was said."""
    answers(f"The code word is {HOSTILE} today.", options=("--session", "one"))
    (found,) = answers("What is the code word today?", options=("--session", "two"))
    assert "[red]x[/] :smile:" in found["text"]


def test_a_session_goes_on(talk, stored):
    """The next chat goes on in the session of its name, until /new ended it."""
    talk("I have two cats.")
    talk("And a dog.")
    assert [text for role, text in stored() if role == "user"] == ["I have two cats.", "And a dog."]
    assert "Session cleared." in talk("/new", "hello there").stdout
    assert ("user", "hello there") in stored("chat-2")
    talk("something else", options=("--session", "trip"))
    assert stored("trip")[0] == ("user", "something else")


def test_a_model_answers(server, model, talk, stored):
    """With a model its words are printed and stored, in either format."""
    server.play(talked(f"Ana is vegetarian. {HOSTILE}"))
    out = talk("What does she eat?", options=model).stdout
    assert out.startswith("Ana is vegetarian. [red]x[/] :smile: ␛[31mred␛[0m ␇bell\n")
    assert "What does she eat?" in server.received[0].prompt
    assert stored()[-1] == ("assistant", f"Ana is vegetarian. {HOSTILE}")


def test_tools_are_named(server, model, answers):
    """The object of an answer has what was recalled for it, and the tools that were called."""
    with Memory() as memory:
        fact = memory.remember("Ana is vegetarian")
    call = ("c1", "search_memories", json.dumps({"query": "Ana"}))
    server.play(talked("Let me look.", call), talked("She is vegetarian."))
    (found,) = answers("What does Ana eat?", options=model)
    assert found == {
        "text": "She is vegetarian.",
        "sources": [fact.id],
        "tools": ["search_memories"],
        "command": None,
    }


def test_words_before_a_call_stand_apart(server, model, talk):
    """What is said before a tool is called and after it are two paragraphs."""
    call = ("c1", "search_memories", json.dumps({"query": "Ana"}))
    server.play(talked("Let me look.", call), talked("She is vegetarian."))
    assert talk("And Ana?", options=model).stdout == "Let me look.\n\nShe is vegetarian.\n"


@pytest.mark.parametrize("act", [failing(400), stopping("Ana is ", "cut")])
def test_a_failure_is_one_line_and_the_talk_goes_on(server, model, talk, stored, act):
    """When the model fails there is one line, what was said is kept, and the next is answered."""
    server.play(act, talked("Here I am."))
    result = talk("Are you there?", "And now?", options=model, code=1)
    assert [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert result.stdout.endswith("Here I am.\n")
    assert ("user", "Are you there?") in stored()


def test_a_failure_is_an_object_too(server, model, answers):
    """With --json a line that could not be answered has an object with the error."""
    server.play(failing(400), talked("Here I am."))
    first, second = answers("Are you there?", "And now?", options=model, code=1)
    assert (first["text"], bool(first["error"])) == ("", True)
    assert second["text"] == "Here I am."


def test_an_unknown_command_names_the_others(talk):
    """A slash word that is none says so and lists them; a path is talk."""
    result = talk("/nope", "/etc/hosts is broken on my machine", code=1)
    assert "there is no /nope; use /new, /end, /clear, /memory" in result.stderr
    assert "Noted, and kept in memory." in result.stdout


@pytest.mark.parametrize(
    "line", ["/new now", "/memory all", "/help me", "/exit now", "/clear all", "/context", "/c"]
)
def test_a_command_is_never_something_said(talk, stored, line):
    """A command with words that it does not take is an error, and nothing of it is stored."""
    result = talk(line, code=0 if line == "/context" else 1)
    assert not stored()
    if line != "/context":
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) == 1


def test_a_command_may_be_short(talk, stored):
    """The beginning of one command alone is that command, in any case; a slip gets a hint."""
    out = talk("I have two cats.", "/NEW", "/ne", "/h").stdout
    assert out.count("Session cleared.") == 2
    assert "/forget" in out
    assert not any("/" in each for each in stored())
    err = talk("/memroy", "/c", code=1).stderr
    assert "did you mean /memory?" in err
    assert "did you mean /clear or /context?" in err


def test_a_session_that_waits_is_told(server, model, talk, answers):
    """Where /new could not consolidate, a line says that the rest is done later."""
    server.play(talked("Noted."), failing(401))
    out = talk("I have two cats.", "/new", options=model).stdout
    assert "Session cleared.\nnot consolidated yet: the last messages are kept" in out
    first, second = answers("I have a fish.", "/new", options=("--session", "other"))
    assert "note" not in first | second


def test_help_and_exit(talk, stored):
    """/help lists the commands, and after /exit nothing is read."""
    out = talk("/help", "/exit", "never said").stdout
    assert all(name in out for name in ("/new", "/forget", "/context", "Ctrl+D", "Alt+Enter"))
    assert not stored()


def test_memory_shows_the_file(talk):
    """/memory prints MEMORY.md as it stands, and its path."""
    with Memory() as memory:
        memory.remember("Ana is vegetarian")
        path = memory.notes.folder / "MEMORY.md"
    out = talk("/memory").stdout
    assert "- Ana is vegetarian" in out
    assert str(path) in out


def test_context_shows_the_parts(talk):
    """/context shows what a model would be sent, with the tokens of each part."""
    out = talk("I have two cats.", "/context and a dog", options=("--system", "Be kind.")).stdout
    assert "of 102,400 tokens" in out
    assert "system prompt" in out
    assert "2 messages" in out
    assert "prompt" in out


def test_clear_needs_a_yes(talk, stored):
    """In a pipe /clear needs --yes; then nothing is in view, and all is still stored."""
    assert "--yes" in talk("I have two cats.", "/clear", code=1).stderr
    assert "Cleared 2 messages" in talk("/clear --yes").stdout
    assert stored() == []
    assert "nothing to clear" in talk("/clear").stdout
    with Memory() as memory:
        assert memory.search("cats")


@pytest.fixture
def small_view(monkeypatch):
    """A view of six messages, of which the newest two always stay."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__MAX_MESSAGES", "6")
    monkeypatch.setenv("MEMORANDA_CONVERSATION__KEEP_RECENT", "2")


@pytest.mark.usefixtures("small_view")
def test_what_leaves_the_view_is_told_and_can_be_seen(talk, answers):
    """A line says how many messages left; /expand lists the markers, and shows their messages."""
    lines = [f"Number {number} is about cats." for number in range(6)]
    told = [found.get("note") for found in answers(*lines)]
    assert told[:3] == [None] * 3
    assert "messages left the view to save space; /expand shows it" in told[3]
    out = talk("/expand").stdout
    (marker,) = [line.split()[0] for line in out.splitlines() if line.startswith("cut_")]
    whole = talk(f"/expand {marker}").stdout
    assert lines[0] in whole
    assert lines[-1] not in whole
    assert "names no part" in talk("/expand nothing", code=1).stderr


@pytest.mark.usefixtures("small_view")
def test_stats_are_those_of_the_conversation(talk):
    """/stats tells what is in view, what is not, the strategy, and what is remembered."""
    talk(*(f"Number {number} is about cats." for number in range(6)))
    out = " ".join(talk("/stats").stdout.split())
    with Memory() as memory:
        figures = memory.conversation("chat").stats()
        episodes = memory.count(kind="episode")
    assert figures.pruned_messages > 0
    assert f"Memory: {figures.messages_in_context} messages ({figures.pruned_messages} " in out
    assert f"in all {figures.total_messages} messages" in out
    assert "strategy rolling_window" in out
    assert f"remembered {episodes} episodes" in out


def test_a_window_that_fills_up_is_told(monkeypatch, answers):
    """From 80 % of the window on a line says how full it is."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__CONTEXT_LIMIT", "600")
    monkeypatch.setenv("MEMORANDA_AGENT__SYSTEM", "Be kind.")
    notes = [found.get("note", "") for found in answers(*["tell " * 40] * 12)]
    assert any("% full" in note and "of 600 tokens" in note for note in notes)
    assert any("left the view" in note for note in notes)


def test_settings_can_be_listed_explained_and_changed(monkeypatch, tmp_path, talk):
    """/settings shows values, meanings, and writes the file; a wrong value changes nothing."""
    file = tmp_path / "config.toml"
    monkeypatch.setenv("MEMORANDA_CONFIG", str(file))
    assert "keep_recent" in talk("/settings").stdout
    only = talk("/settings conversation").stdout
    assert "keep_recent" in only
    assert "busy_timeout" not in only
    assert "always stay" in talk("/settings conversation.keep_recent").stdout
    wrong = talk("/settings conversation.keep_recent 0", code=1).stderr
    assert "keep_recent='0' should be greater than 0" in wrong
    assert not file.exists()
    assert "from the next chat on" in talk("/settings conversation.keep_recent 4").stdout
    assert "keep_recent = 4" in file.read_text("utf-8")


def test_end_makes_memory_of_the_session_and_leaves(talk, answers, stored):
    """/end consolidates, the chat is over, and the next one begins a session of its own."""
    said = answers("I live in Porto.", "/end", "never heard")
    assert [each["command"] for each in said] == [None, "/end"]
    assert said[-1]["text"] == "Session ended."
    with Memory() as memory:
        assert [fact.content for fact in memory.records(kind="fact")] == [
            "The user lives in Porto."
        ]
    talk("Hello again.")
    assert ("user", "Hello again.") in stored("chat-2")


def test_new_learns_what_was_cleared(talk):
    """What /clear took out of view becomes memory with /new all the same."""
    out = talk("I live in Porto.", "/clear --yes", "/new").stdout
    assert "Session cleared." in out
    assert "not consolidated" not in out
    with Memory() as memory:
        assert [fact.content for fact in memory.records(kind="fact")] == [
            "The user lives in Porto."
        ]
        assert "Porto" in memory.notes.read_memory()


def test_forget_by_id(talk):
    """/forget ID --yes stops believing a fact; --erase removes it for good."""
    with Memory() as memory:
        kept = memory.remember("Ana is vegetarian")
        gone = memory.remember("Ana lives in Porto")
    talk(f"/forget {kept.id}", code=1)
    talk(f"/forget {kept.id} --yes", f"/forget {gone.id} --erase --yes")
    with Memory() as memory:
        assert memory.get(kept.id).valid_until is not None
        assert memory.get(gone.id) is None


def test_forget_by_words_only_shows(talk):
    """In a pipe /forget WORDS shows what it means, and forgets nothing, not even with --yes."""
    with Memory() as memory:
        fact = memory.remember("Ana is vegetarian")
    result = talk("/forget vegetarian --yes", code=1)
    assert "name an id" in result.stderr
    assert fact.id in result.stdout
    with Memory() as memory:
        assert memory.get(fact.id).valid_until is None


@pytest.mark.parametrize("line", ["/forget", "/forget --all", "/forget fact_none --yes"])
def test_a_wrong_forget_says_so(talk, line):
    """Without an id that is there, /forget is one line of error."""
    assert talk(line, code=1).stderr.startswith("error: ")


@each_row("options", [("--model", "nobody:x"), ("--session", " ")])
def test_wrong_options_are_one_line(run, options):
    """An option that cannot be used ends it with one line, before anything is read."""
    result = run(*options, code=1)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
