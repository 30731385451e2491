"""One set of settings, honoured by every door in which somebody talks."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from memoranda import Agent, Memory, Settings
from memoranda.cli import app
from memoranda.settings.fields import fields

# What makes a setting visible, where it needs others: a window that fills up, a task that ends.
SMALL = {"conversation.context_limit": 1_600, "agent.system": "Be kind."}
FEW = SMALL | {"conversation.keep_recent": 2, "conversation.context_limit": 800}
# Each setting of a conversation and of the agent: another value, and what else must be set.
CHANGES = {
    "conversation.context_limit": (2_800, {"agent.system": "Be kind."}),
    "conversation.budget_share": (0.4, SMALL),
    "conversation.max_messages": (8, {"conversation.keep_recent": 2}),
    "conversation.keep_recent": (2, SMALL | {"conversation.max_messages": 12}),
    "conversation.window": (2, {}),
    "conversation.strategy": ("recency", SMALL),
    "conversation.warn_at": (0.3, SMALL),
    "conversation.prune_at": (0.7, FEW),
    "conversation.prune_to": (0.2, FEW | {"conversation.aggressive_to": 0.2}),
    "conversation.aggressive_at": (0.8, FEW),
    "conversation.aggressive_to": (
        0.1,
        {"conversation.prune_at": 0.6, "conversation.aggressive_at": 0.6}
        | FEW
        | {"conversation.context_limit": 1_100},
    ),
    "conversation.at_task_boundary": ("keep", {}),
    "conversation.at_session_start": ("prune", {}),
    "conversation.stable_prefix": (True, SMALL),
    "conversation.summaries": ("extractive", SMALL),
    "agent.system": ("You plan trips.", {}),
    "agent.memory_window": (10, {"conversation.keep_recent": 2}),
}
# Seen only where a model calls tools: tests/memory/test_agent_shown.py.
ELSEWHERE = {"agent.max_steps"}
SAID = [
    *(f"Number {n} is about cats and their {'very ' * 60}long tails." for n in range(8)),
    "New task: write the release notes.",
    *(f"Note {n} is about {'rather ' * 60}small changes." for n in range(5)),
]
HALVES = (SAID[:10], SAID[10:])


pytestmark = pytest.mark.usefixtures("own_machine")


def library(path):
    """Talk in a conversation of the library; return the warnings."""
    warnings = []
    for said in HALVES:
        with Memory(path) as memory:
            chat = memory.conversation("chat", system=Settings().agent.system)
            chat.on("approaching_limit", warnings.append)
            for text in said:
                chat.add("user", text)
                chat.add("assistant", "Noted.")
    return len(warnings)


def agent(path):
    """Talk with an agent; return the warnings."""
    warnings = []
    for said in HALVES:
        with Memory(path) as memory:
            speaker = Agent(memory)
            warnings += [speaker.process(text).usage_warning for text in said]
    return len([each for each in warnings if each])


def chat(path):
    """Talk in ``memoranda chat``; return the warnings."""
    warnings = 0
    for said in HALVES:
        lines = "".join(f"{text}\n" for text in said)
        done = CliRunner().invoke(app, ["chat", "--db", str(path), "--json"], input=lines)
        assert done.exit_code == 0, done.output
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        warnings += sum("% full" in answer.get("note", "") for answer in answers)
    return warnings


# What was seen without a change, by the door and what else was set.
PLAIN = {}
DOORS = {"library": library, "agent": agent, "chat": chat}


def seen(path, warnings):
    """Return what can be seen of the conversation after a talk, and of its next context."""
    with Memory(path) as memory:
        talk = memory.stored_conversations.open_read_only("chat")
        shown = talk.explain()
        return {
            "warnings": warnings,
            "prunings": [
                (done.trigger, [(cut.first, cut.last, cut.summary) for cut in done.cuts])
                for done in talk.prunings
            ],
            "states": Counter(line.state for line in shown.lines),
            "budget": (shown.window, shown.budget),
            "strategy": shown.told,
            "window": len(talk.window()),
            "system": talk.system.partition("\n")[0],
        }


def by_environment(monkeypatch, values):
    """Set settings as environment variables."""
    for name, value in values.items():
        variable = "MEMORANDA_" + name.upper().replace(".", "__")
        monkeypatch.setenv(variable, value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", CHANGES)
def test_each_setting_changes_what_it_says_in_each_door(tmp_path, monkeypatch, door, name):
    """With another value of one setting the same talk leaves another view, through every door."""
    value, beside = CHANGES[name]
    if door == "library" and name == "agent.memory_window":
        pytest.skip("a conversation of the library has no memory window")
    by_environment(monkeypatch, beside)
    known = door, tuple(sorted(beside.items()))
    if known not in PLAIN:
        PLAIN[known] = seen(tmp_path / "plain.db", DOORS[door](tmp_path / "plain.db"))
    by_environment(monkeypatch, {name: value})
    changed = seen(tmp_path / "changed.db", DOORS[door](tmp_path / "changed.db"))
    assert changed != PLAIN[known]


def test_no_setting_of_a_talk_is_left_out():
    """Whoever adds a setting of conversations or of the agent says here what it changes."""
    known = {field.name for field in fields(Settings)}
    talked = {name for name in known if name.startswith(("conversation.", "agent."))}
    assert talked == set(CHANGES) | ELSEWHERE
    assert ELSEWHERE.isdisjoint(CHANGES)
