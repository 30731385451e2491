"""The commands that look at conversations and change what is in view of them, on real files."""

import json
import os
import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from tables import each_row
from typer.testing import CliRunner

from memoranda import Memory
from memoranda.cli import app
from memoranda.model.models import Image, ToolCall, ToolResult
from memoranda.testing.clocks import FrozenClock

HOSTILE = "[red]x[/] :smile: \x1b[31mred\x1b[0m \x9b1m \x07bell"
START = datetime(2025, 3, 31, 9, tzinfo=UTC)
LONG = "Keep the public names as they are, and say so in the changelog. " * 20
CHINESE = "每个月的报表都要显示合计金额数字要对齐。" * 4
COMMANDS = ["list", "show", "prune", "clear", "pin", "expand", "receipts"]
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-7](?:;\d+)*m")
CODES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def _settings(tmp_path, monkeypatch):
    """No settings of this machine, no model, one time zone, a folder of its own."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def prefix():
    """All commands here are those of ``memoranda conversations``."""
    return ("conversations",)


def tell(chat):
    """Tell a story of two tasks: calls, an error, a picture, a pin, text of every kind."""
    said = START

    def add(role, content, **more):
        nonlocal said
        said += timedelta(minutes=1)
        return chat.add(role, content, timestamp=said, **more)

    def call(name, arguments, result, *, error=False):
        key = f"call_{said:%H%M}"
        add("assistant", "", tool_calls=[ToolCall(key, name, arguments)])
        add("tool", result, tool_result=ToolResult(key, error))

    add("user", "Split parser.py into a tokenizer and a parser.")
    call("read_file", '{"path": "parser.py"}', "def parse(line):\n    return line\n" * 9)
    call("run_tests", "{}", "ImportError: cannot import name 'tokenize'", error=True)
    add("assistant", "Task complete. All tests pass now.")
    pinned = add("user", LONG, task="the changelog")
    chat.pin(pinned.id)
    add("assistant", "Noted.")
    add("user", CHINESE, images=[Image("https://example.org/report.png", "low")])
    two = [ToolCall("a", "read_file", '{"path": "报表.py"}'), ToolCall("b", "run_linter", "{")]
    add("assistant", "Looking at both.", tool_calls=two)
    add("tool", "one\ntwo\nthree\nfour\nfive", tool_result="a")
    add("tool", "clean", tool_result="b")
    for number in range(8):
        add(("user", "assistant")[number % 2], f"Remark {number} on the columns.")


@pytest.fixture
def trip(tmp_path):
    """A stored conversation named trip, in which nothing was pruned yet."""
    with Memory(tmp_path / "agent.db") as memory:
        chat = memory.conversation("trip", system="You are careful.", context_limit=8_000)
        tell(chat)
        return chat.messages


@pytest.fixture
def looked(tmp_path):
    """Return all that is stored of a conversation, as a value."""

    def look(id="trip"):
        with Memory(tmp_path / "agent.db") as memory:
            chat = memory.conversation(id)
            return memory.conversations(), chat.messages, chat.prunings, memory.records(limit=999)

    return look


def test_alone_it_lists_the_conversations(run, told, trip):
    """The group alone prints id, messages, tokens in view, share of the window, last message."""
    line = next(each for each in run().stdout.splitlines() if each.startswith("trip"))
    (found,) = told()
    figures = found["stats"]
    assert (found["id"], found["messages"]) == ("trip", len(trip))
    assert figures["total_tokens"] == told("show", "trip")["tokens"]
    assert line.split() == [
        "trip", str(len(trip)), str(figures["messages_in_context"]),
        f"~{figures['total_tokens']:,}", f"{figures['percent_used']:.0f}", "%",
        *f"{trip[-1].timestamp:%Y-%m-%d %H:%M}".split(),
    ]  # fmt: skip
    assert run("list").stdout == run().stdout


def test_a_list_that_ends_early_says_so(run, told, tmp_path):
    """--limit gives the newest; a note says how many more there are."""
    with Memory(tmp_path / "agent.db") as memory:
        for number in range(4):
            memory.conversation(f"talk-{number}")
    result = run("list", "--limit", "3", "--json")
    assert [each["id"] for each in json.loads(result.stdout)] == ["talk-3", "talk-2", "talk-1"]
    assert "1 more" in result.stderr
    assert len(told("list")) == 4


def test_in_a_pipe_it_is_plain_and_whole(run, trip):
    """Piped, there is no code of a terminal, and no text is wrapped or cut."""
    out = run("show", "trip").stdout
    assert "\x1b" not in out
    for message in trip:
        for line in message.content.splitlines():
            assert line.rstrip() in out
    assert 'read_file(path="报表.py")' in out
    assert "run_linter({)" in out
    assert "[image]" in out


@pytest.mark.usefixtures("trip")
@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("options", [(), ("--explain",), ("--all", "--explain"), ("-n", "3")])
def test_a_terminal_is_never_exceeded(run, drawn, columns, options):
    """No line is wider than the terminal, with wide characters and what was pruned, too."""
    run("prune", "trip", "--to", "650")
    lines = drawn("show", "trip", *options, columns=columns)
    assert max(map(cell_len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines)
    assert max(map(cell_len, drawn("receipts", "trip", columns=columns))) <= columns


def test_columns_are_aligned(drawn, trip):
    """Position, role, tokens, score and text stand in the same columns in every row."""
    lines = drawn("show", "trip", columns=100)
    head = next(line for line in lines if line.lstrip().startswith("#  time"))
    rows = [line for line in lines if re.match(r" *#\d+  \d\d:\d\d  ", line)]
    assert len(rows) == len(trip)
    ends = {name: head.index(name) + len(name) for name in ("#", "tokens", "score")}
    text = ends["score"] + 2
    for row in rows:
        assert row[ends["#"]] == row[ends["tokens"]] == row[ends["score"]] == " "
        assert row[ends["tokens"] - 1].isdigit()
        assert re.fullmatch(r"[01]\.\d\d", row[ends["score"] - 4 : ends["score"]])
        assert row[text - 1] == " " != row[text]
        assert row[head.index("role") :].split()[0] in {"user", "assistant", "tool"}


@pytest.mark.usefixtures("trip")
def test_without_colour_there_is_none(run, monkeypatch):
    """On a terminal roles are coloured; with NO_COLOR nothing is, and the text is the same."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run("show", "trip").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    bare = run("show", "trip").stdout
    assert COLOUR.search(coloured)
    assert not COLOUR.search(bare)
    assert CODES.sub("", coloured) == CODES.sub("", bare)


@pytest.mark.usefixtures("trip")
@pytest.mark.parametrize(("share", "colour"), [(0.7, 32), (0.85, 33), (0.95, 31)])
def test_the_bar_warns(run, told, monkeypatch, share, colour):
    """The bar is green, from 80 % of the budget yellow, and from 90 % red (R6.1, R6.2)."""
    budget = int(told("show", "trip")["tokens"] / share)
    monkeypatch.setenv("FORCE_COLOR", "1")
    line = run("show", "trip", "--budget", str(budget)).stdout.splitlines()[1]
    assert line.startswith(f"\x1b[{colour}m━")
    assert f"({share:.0%})".replace("%", " %") in CODES.sub("", line)


@pytest.mark.usefixtures("trip")
def test_the_head_splits_tokens_by_role(run, told):
    """The head has budget, window and the tokens of each role, which add up (R2.5)."""
    found = told("show", "trip")
    _, bar, split, *_ = run("show", "trip").stdout.splitlines()
    assert f"{found['tokens']:,} of 8,000 tokens" in bar
    assert "budget 6,400" in bar
    spent = {part.split()[0]: int(part.split()[1].replace(",", "")) for part in split.split(" · ")}
    assert spent == found["figures"]["tokens_by_role"]
    assert sum(spent.values()) == found["tokens"]


def test_the_foot_says_what_is_in_memory(run, trip):
    """The foot counts what is in memory and what was pruned when, and names the oldest (R7)."""
    assert f"Memory: {len(trip)} messages\n" in run("show", "trip").stdout
    run("prune", "trip", "--to", "650")
    out = run("show", "trip").stdout
    held, pruned = re.search(r"Memory: (\d+) messages \((\d+) pruned just now\)", out).groups()
    assert int(held) + int(pruned) == len(trip)
    assert re.search(rf"in all +{len(trip)} messages", out)
    assert re.search(r"oldest in view +#\d+, 2025-03-31 09:\d\d", out)
    assert re.search(r"strategy +rolling_window", out)
    assert re.search(r"tokens +estimate", out)


@pytest.mark.usefixtures("trip")
def test_results_stand_under_their_calls(drawn):
    """A result is marked as an answer, an error as one, and of parallel calls the name is told."""
    lines = drawn("show", "trip", columns=100)
    (call,) = [n for n, line in enumerate(lines) if "run_tests()" in line]
    assert "↳ error ImportError" in lines[call + 1]
    assert any("↳ read_file: one" in line for line in lines)
    assert any("↳ run_linter: clean" in line for line in lines)
    assert any(line.endswith("three…") for line in lines)
    assert not any("four" in line for line in lines)


@pytest.mark.usefixtures("trip")
def test_tasks_are_titled_rules(drawn):
    """Each task begins with a rule that has its number, its title, and whether it is done."""
    rules = [line for line in drawn("show", "trip") if line.startswith("── ")]
    assert [rule.strip("─ ") for rule in rules] == [
        "task 1 (done): Split parser.py into a tokenizer and a parser.",
        "task 2: the changelog",
    ]
    assert {cell_len(rule) for rule in rules} == {80}


@pytest.mark.usefixtures("trip")
def test_what_was_pruned_is_one_line(run, told):
    """A pruned span is one line: how many, tokens, when, what set it off, and its id (R7.2)."""
    done = told("prune", "trip", "--to", "650")
    lines = [line for line in run("show", "trip").stdout.splitlines() if line.startswith("… ")]
    cut = done["cuts"][0]
    assert len(lines) == len(done["cuts"])
    assert f"{cut['messages']} messages removed" in lines[0]
    assert f"{cut['tokens']:,} tokens" in lines[0]
    assert "manual just now" in lines[0]
    assert lines[0].endswith(f"cut_{cut['first']}-{cut['last']}")


def test_all_shows_what_is_out(run, trip):
    """--all prints each message that was pruned or cleared, and says which it was."""
    run("prune", "trip", "--to", "650")
    out = run("show", "trip", "--all").stdout
    assert all(f"#{message.position} " in out for message in trip)
    assert "[pruned] Split parser.py" in out
    run("clear", "trip", "--yes")
    assert f"… {len(trip)} messages cleared before" in run("show", "trip").stdout
    assert "[cleared] Split parser.py" in run("show", "trip", "--all").stdout


@pytest.mark.usefixtures("trip")
def test_explain_says_why(run, told):
    """--explain says for each message why it is in or out, with the parts of its score (R7.5)."""
    run("prune", "trip", "--to", "700")
    out = run("show", "trip", "--explain", "--budget", "520").stdout
    found = told("show", "trip", "--budget", "520")
    assert found["told"][0] in out
    assert found["told"][1] in out
    for line in found["lines"]:
        assert line["state"] == "pruned" or f"{line['state']}: {line['why']}" in out
    assert "score 0.5 base" in out
    assert f"{found['prunings'][0]['id']}: manual" in out
    assert {line["state"] for line in found["lines"]} >= {"in", "pinned", "pruned", "out"}


@pytest.mark.usefixtures("trip")
def test_strategies_can_be_compared(told):
    """--strategy shows the view of another strategy, and says which it is."""
    views = {}
    for strategy in ("rolling_window", "recency", "importance", "hybrid"):
        found = told("show", "trip", "--strategy", strategy, "--budget", "650")
        assert found["strategy"] == strategy
        views[strategy] = [line["state"] for line in found["lines"]]
    assert views["recency"] != views["importance"]


def test_limit_gives_the_newest(run, told, trip):
    """--limit prints the newest rows alone, and says that there are more."""
    out = run("show", "trip", "--limit", "2").stdout
    assert [f"#{message.position} " in out for message in trip[-3:]] == [False, True, True]
    assert f"… {len(trip) - 2} earlier rows" in out
    lines = told("show", "trip", "--limit", "2")["lines"]
    assert [line["message"]["id"] for line in lines] == [message.id for message in trip[-2:]]


@pytest.mark.usefixtures("trip")
def test_looking_changes_nothing(run, looked, monkeypatch):
    """No look writes, also where the settings prune when a session starts."""
    before = looked()
    monkeypatch.setenv("MEMORANDA_CONVERSATION__AT_SESSION_START", "prune")
    run("show", "trip", "--explain", "--all", "--budget", "500", "--strategy", "hybrid")
    run("prune", "trip", "--to", "500", "--dry-run")
    run("expand", "trip", "cut_1-2")
    run("receipts", "trip")
    run()
    run("show", "trap", code=1)
    monkeypatch.delenv("MEMORANDA_CONVERSATION__AT_SESSION_START")
    assert looked() == before


@pytest.mark.usefixtures("trip")
def test_a_dry_run_says_what_pruning_does(run, told, looked):
    """--dry-run prints the receipt of the real pruning, and prunes nothing."""
    tried = told("prune", "trip", "--to", "650", "--dry-run")
    assert looked()[2] == ()
    assert "dry run, nothing was changed" in run("prune", "trip", "--to", "650", "--dry-run").stdout
    done = told("prune", "trip", "--to", "650")
    assert done | {"id": tried["id"], "at": tried["at"]} == tried
    assert [receipt.id for receipt in looked()[2]] == [done["id"]]


def test_a_receipt_says_what_went_and_why(run, told, trip):
    """Prune prints id, trigger, why, tokens and the markers; receipts prints it again."""
    assert "nothing was pruned" in run("receipts", "trip").stdout
    out = run("prune", "trip", "--to", "650", "--strategy", "importance").stdout
    (done,) = told("receipts", "trip")
    freed = sum(cut["tokens"] for cut in done["cuts"])
    for text in (done["id"], "manual", done["why"], "importance", f"{freed:,} freed"):
        assert text in out
    for cut in done["cuts"]:
        name = f"cut_{cut['first']}" + (f"-{cut['last']}" if cut["last"] > cut["first"] else "")
        assert name in out
    assert run("receipts", "trip").stdout == out
    assert len(trip) == told()[0]["messages"]


def test_what_fits_is_not_pruned(run, told, trip):
    """Where everything fits there is nothing to prune, and that is no failure."""
    assert "nothing to prune" in run("prune", "trip").stdout
    assert told("prune", "trip") is None
    assert told()[0]["stats"]["messages_in_context"] == len(trip)


def test_expand_gives_back_what_was_said(run, told, trip):
    """A marker expands to its messages, whole; a position to one of them."""
    done = told("prune", "trip", "--to", "650")
    cut = done["cuts"][0]
    found = told("expand", "trip", f"cut_{cut['first']}-{cut['last']}")
    wanted = trip[cut["first"] : cut["last"] + 1]
    assert [message["content"] for message in found] == [message.content for message in wanted]
    assert LONG in run("expand", "trip", "6").stdout
    assert told("expand", "trip", "#6")[0]["id"] == trip[6].id


def test_clear_asks_first(run, trip, looked, ask):
    """Clear asks, and only a yes clears (workflow 4); no answer is a no."""
    for answer in ("n\n", "\x04"):
        code, told = ask("conversations", "clear", "trip", answer=answer)
        assert code == 1
        assert "Clear conversation history?" in told
        assert "nothing was cleared" in told
    assert len(looked()[1]) == len(trip)
    (line,) = run("clear", "trip", code=1, stdin="y\n").stderr.splitlines()
    assert "--yes" in line
    assert len(looked()[1]) == len(trip)
    assert ask("conversations", "clear", "trip", answer="y\n")[0] == 0
    assert looked()[1] == ()


def test_clear_leaves_the_system_prompt(run, told, trip):
    """After clear the view holds the system prompt alone, and clearing again is no failure."""
    assert told("clear", "trip", "--yes") == {"id": "trip", "cleared": len(trip)}
    found = told("show", "trip")
    assert list(found["figures"]["tokens_by_role"]) == ["system"]
    assert (found["lines"], found["cleared"]) == ([], len(trip))
    assert "nothing to clear" in run("clear", "trip").stdout


def test_a_pin_keeps_a_message_in_view(run, told, trip):
    """A pinned message is in every view, until it is unpinned."""
    assert told("pin", "trip", "0")["pinned"] is True
    assert told("show", "trip", "--budget", "520")["lines"][0]["state"] == "pinned"
    assert "[pinned] Split parser.py" in run("show", "trip").stdout
    assert told("pin", "trip", trip[0].id, "--off")["pinned"] is False
    assert told("show", "trip", "--budget", "520")["lines"][0]["state"] == "out"


@pytest.mark.usefixtures("trip")
def test_a_pin_that_cannot_work_says_so(run, told):
    """A message that is not in view though it is pinned leaves a warning."""
    run("prune", "trip", "--to", "650")
    result = run("pin", "trip", "#0")
    seen = told("show", "trip")["lines"][0]["state"] == "pinned"
    assert seen != ("warning: #0 is not in view all the same" in result.stderr)


@pytest.mark.usefixtures("trip")
@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "tripp"),
        ("show", "trip", "--user", "bruno"),
        ("show", "trip", "--budget", "0"),
        ("show", "trip", "--strategy", "newest"),
        ("show", "\x1b[2J\nx"),
        ("show", ""),
        ("prune", "tripp"),
        ("prune", "trip", "--to", "0"),
        ("prune", "trip", "--to", "20"),
        ("clear", "tripp", "--yes"),
        ("pin", "tripp", "1"),
        ("pin", "trip", "999"),
        ("pin", "trip", "msg_none"),
        ("expand", "trip", "the start"),
        ("expand", "trip", "cut_90-99"),
        ("receipts", "tripp"),
    ],
)
def test_bad_input_is_one_line_and_exit_1(run, looked, arguments):
    """What cannot be used ends with one line on stderr, nothing on stdout, and no change."""
    before = looked()
    result = run(*arguments, code=1)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert "\x1b" not in line
    assert result.stdout == ""
    assert looked() == before


@pytest.mark.usefixtures("trip")
def test_an_unknown_conversation_names_similar_ones(run):
    """The error lists ids that are near, and no conversation is made by it."""
    assert "there is 'trip'" in run("show", "tripp", code=1).stderr
    with Memory(user="bruno") as memory:
        memory.remember("nothing was said yet")
    assert "there are none yet" in run("show", "trip", "--user", "bruno", code=1).stderr


def test_stored_text_cannot_drive_the_terminal(run, tmp_path, monkeypatch):
    """Names, texts, calls and titles are shown as they are; control characters never raw."""
    monkeypatch.setenv("COLUMNS", "300")
    with Memory(tmp_path / "agent.db") as memory:
        chat = memory.conversation(f"id {HOSTILE}", system=HOSTILE, model=f"m {HOSTILE}")
        chat.add("user", HOSTILE, task=HOSTILE)
        chat.add("assistant", HOSTILE, tool_calls=[ToolCall("\x1bid", f"f{HOSTILE}", HOSTILE)])
        chat.add("tool", HOSTILE, tool_result="\x1bid")
        chat.add("user", HOSTILE, task=f"{HOSTILE} again")
    for command in ((), ("show", f"id {HOSTILE}", "--explain"), ("expand", f"id {HOSTILE}", "0-2")):
        out = run(*command).output
        assert not any(sign in out for sign in ("\x1b", "\x07", "\x9b"))
        assert "[red]x[/] :smile: ␛[31mred" in out


def test_an_empty_conversation_is_drawn(run, drawn, tmp_path):
    """Where nobody said anything yet, that is what is said."""
    with Memory(tmp_path / "agent.db") as memory:
        memory.conversation("empty")
    assert "no messages" in run("show", "empty").stdout
    assert "Memory: 0 messages" in drawn("show", "empty", "--explain")


@each_row("name", COMMANDS)
def test_every_command_explains_itself(run, name):
    """Each command has a help with an example, and takes the shared options."""
    out = run(name, "--help").stdout
    assert all(option in out for option in ("--db", "--user", "--json"))
    assert f"memoranda conversations {name}" in out.split("Examples:")[1]


@pytest.mark.usefixtures("trip")
def test_ids_are_completed(monkeypatch):
    """The shell completes the ids that are stored, of the file and the user on the line."""
    monkeypatch.setenv("_MEMORANDA_COMPLETE", "complete_bash")

    def completed(*words):
        monkeypatch.setenv("COMP_WORDS", " ".join(("memoranda", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        return CliRunner().invoke(app, prog_name="memoranda").stdout.split()

    assert completed("conversations", "show", "tr") == ["trip"]
    assert completed("conversations", "pin", "x") == []
    assert completed("--user", "bruno", "conversations", "show", "tr") == []
    assert completed("--db", "absent.db", "conversations", "show", "tr") == []
    assert completed("conversations", "show", "trip", "--strategy", "re") == ["recency"]
    assert not os.path.exists("absent.db")  # noqa: PTH110 - as the shell would ask


def test_what_is_no_text_is_named(run, tmp_path):
    """A message that a provider gave without a text is shown by what it holds."""
    items = [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAA"},
        {"type": "web_search_call", "id": "w"},
        {"role": "assistant", "content": "At 9:40."},
        {"role": "user", "content": [{"type": "input_file", "file_id": "f"}]},
    ]
    with Memory(tmp_path / "agent.db") as memory:
        memory.conversation("ferry").extend(items)
    shown = run("show", "ferry").stdout
    assert all(f"[{kind}]" in shown for kind in ("reasoning", "web_search_call", "input_file"))
    assert "gAAAA" not in shown


def test_what_expired_is_counted_and_not_shown(run, told, tmp_path, monkeypatch):
    """Neither with ``--all`` nor in JSON is any of its text."""
    monkeypatch.setenv("MEMORANDA_RETENTION__EPISODE", "30d")
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=31))
    with Memory(tmp_path / "agent.db", clock=clock) as memory:
        chat = memory.conversation("old")
        chat.add("user", "Meet me at the harbour.")
        clock.advance(timedelta(days=30))
        chat.add("user", "Are you there?")
    shown = run("show", "old", "--all").stdout
    assert "2 messages, 1 expired" in shown
    assert "Are you there?" in shown
    assert "harbour" not in shown
    assert told("show", "old", "--all")["expired"] == 1
    assert "harbour" not in run("show", "old", "--all", "--json").stdout
