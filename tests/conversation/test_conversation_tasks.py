"""What goes when a task ends (R6.4), or a session (R6.5); and that mistakes stay (R5.3)."""

from tables import each_row
from talks import (
    FINISHED,
    NEXT,
    STRATEGIES,
    alone,
    chatter,
    chosen,
    exchange,
    fill,
    heard,
    lawful,
    named,
    remembering,
    sized,
    texts,
)

from memoranda.conversation.selection import BINDING_TOKENS
from memoranda.model.models import ToolCall

RULE = "Always answer in French, never in English."


def refactor(chat, count=8):
    """Add the messages of a task, without its end."""
    for number in range(count):
        chat.add("user", f"Rename the function number {number} in module{number}.py")
        chat.add("assistant", f"Renamed function {number}.")


LETTER = chosen(prune_from=0.0)  # the requirement documents to the letter


@each_row("strategy", STRATEGIES)
def test_a_finished_task_leaves_when_the_next_begins(strategy):
    """Workflow 3: the old task is out, but for the newest messages; an event and a receipt tell."""
    chat = alone(keep_recent=3, strategy=strategy, settings=LETTER)
    events = heard(chat, "task_boundary", "pruned")
    refactor(chat)
    chat.add("assistant", FINISHED)
    assert events == []
    said = chat.add("user", NEXT)
    [boundary], [receipt] = named(events, "task_boundary"), named(events, "pruned")
    assert boundary == said
    assert (receipt,) == chat.prunings
    assert receipt.trigger == "task_boundary"
    shown = texts(lawful(chat).messages)
    assert shown[-2:] == [FINISHED, NEXT]
    assert len(shown) <= 4  # a pair may come along with the three newest
    assert receipt.messages == 18 - len(shown)


def test_nothing_leaves_at_a_boundary_while_there_is_room():
    """W1, R6.1: below half of the window a new task is told of, and takes nothing away."""
    chat = alone(keep_recent=3)
    events = heard(chat, "task_boundary", "pruned")
    refactor(chat)
    chat.add("assistant", FINISHED)
    chat.add("user", NEXT)
    assert texts(named(events, "task_boundary")) == [NEXT]
    assert chat.prunings == ()


def test_the_caller_can_say_where_a_task_begins():
    """``add(task=…)`` is a boundary whatever the message says; its title is told.

    Where the finished task frees what is needed beyond the threshold, nothing else is pruned.
    """
    chat = alone(keep_recent=1, context_limit=1_000)
    events = heard(chat, "task_boundary")
    fill(chat, [75] * 10)
    said = chat.add("user", f"Please go on with function 9. {sized(60)}", task="Tests")
    [boundary] = named(events, "task_boundary")
    assert (boundary, said.task) == (said, "Tests")
    [receipt] = chat.prunings
    assert (receipt.trigger, receipt.before > 800) == ("task_boundary", True)
    assert said.content in texts(lawful(chat).messages)
    assert receipt.messages >= 9


def test_boundaries_are_told_and_need_not_prune():
    """``keep`` prunes nothing; of several boundaries at once each is told, the last one counts."""
    chat = alone(keep_recent=1, settings=chosen(at_task_boundary="keep", prune_from=0.0))
    events = heard(chat, "task_boundary")
    refactor(chat, 3)
    chat.add("assistant", FINISHED)
    chat.add("user", NEXT)
    assert (len(events), len(chat.view().messages)) == (1, 8)
    chat = alone(keep_recent=1, settings=LETTER)
    events = heard(chat, "task_boundary")
    refactor(chat, 2)
    chat.extend(
        [
            {"role": "assistant", "content": FINISHED},
            {"role": "user", "content": NEXT},
            {"role": "user", "content": "# Task: release"},
        ]
    )
    assert [begun.task for begun in named(events, "task_boundary")] == ["", "Task: release"]
    assert len(chat.prunings) == 1
    assert texts(lawful(chat).messages) == ["# Task: release"]


def test_a_current_task_that_is_too_large_keeps_its_request_and_what_fits():
    """R5.2, R5.4: the old task goes whole; of the current one no more than has to."""
    chat = alone(keep_recent=2, context_limit=1_000)
    refactor(chat, 4)
    chat.add("assistant", FINISHED)
    asked = chat.add("user", NEXT)
    fill(chat, [45] * 24, roles=("assistant", "user"))
    shown = lawful(chat).messages
    assert len(shown) >= 8
    assert shown[0] == asked
    assert texts(shown[2:]) == texts(chat.messages)[2 - len(shown) :]


def test_a_boundary_is_seen_across_two_holders(tmp_path):
    """The end of a task that one holder heard and the request that the other hears are one."""
    with remembering(tmp_path / "m.db", prune_from=0.0) as memory:
        one, two = (memory.conversation("c", keep_recent=2) for _ in range(2))
        events = heard(two, "task_boundary")
        two.add("user", "Rename the function number 7 in module7.py")
        refactor(one)
        one.add("assistant", FINISHED)
        said = two.add("user", NEXT)
        assert named(events, "task_boundary") == [said]
        assert [r.trigger for r in one.prunings] == ["task_boundary"]
        assert one.view() == two.view()
        told = heard(one, "task_boundary")
        one.add("assistant", "Which of them?")
        assert told == []  # whoever added the message heard of it


# Sessions


def test_a_new_session_keeps_system_messages_and_pins(tmp_path):
    """R6.5: all else leaves the view, and can be expanded."""
    with remembering(tmp_path / "m.db") as memory:
        for chat in (alone(system="You plan."), memory.conversation("c", system="You plan.")):
            events = heard(chat, "pruned")
            rule = chat.add("system", "The house has rules.")
            said = chatter(chat, 12)
            exchange(chat, "call")
            chat.pin(said[4].id)
            receipt = chat.start_session()
            assert (receipt.trigger, receipt.messages) == ("session_start", 13)
            assert named(events, "pruned") == [receipt]
            shown = lawful(chat)
            assert [message.id for message in shown.messages] == [rule.id, said[4].id]
            assert len(shown.markers) == 2
            assert chat.start_session() is None
            new = chatter(chat, 3)
            assert list(chat.view().messages[2:]) == new


def test_a_session_start_can_prune_by_itself(tmp_path):
    """``at_session_start = "prune"``: opening again starts afresh; otherwise all is there."""
    path = tmp_path / "m.db"
    with remembering(path) as memory:
        chatter(memory.conversation("c"), 6)
    with remembering(path) as memory:
        chat = memory.conversation("c")
        assert len(chat.view().messages) == 6
        assert chat.prunings == ()
    with remembering(path, at_session_start="prune") as memory:
        chat = memory.conversation("c", keep_recent=10)
        assert chat.view().messages == ()
        assert [r.trigger for r in chat.prunings] == ["session_start"]
        assert len(chat.messages) == 6
        [marker] = chat.view().markers
        assert chat.expand(marker) == chat.messages
    with remembering(path, at_session_start="prune") as memory:
        assert len(memory.conversation("c").prunings) == 1  # nothing was said since


WRONG = "Error: undefined symbol foo in main.c, exit code 1."
RIGHT = "No, I meant the release build."


def go_wrong(chat):
    """Have a mistake and its correction said."""
    chat.add("user", "Compile it.")
    chat.add("assistant", WRONG)
    chat.add("user", RIGHT)
    chat.add("assistant", "Sorry, I used the wrong target; now it builds.")


def in_view(chat):
    """Return what the model reads, as one text."""
    return "\n".join(str(message["content"]) for message in chat.context().messages)


def test_what_binds_outlives_any_number_of_prunings():
    """The default strategy takes out hundreds of messages, many times, and never these."""
    chat = alone(max_tokens=1_400, max_messages=50)
    chatter(chat, 2)
    go_wrong(chat)
    chat.add("user", RULE)
    chat.add("assistant", "D'accord.")
    chat.add("user", "We decided to use Postgres 16.")
    chat.add("assistant", "Noted.")
    for _ in range(40):
        chatter(chat, 10)
        seen = in_view(chat)
        assert {text for text in (WRONG, RIGHT, RULE, "Postgres 16") if text not in seen} == set()
    assert len(chat.prunings) > 10


def test_the_first_request_stays_and_is_quoted_where_it_cannot():
    """R5.4: what the task is about is in every view, or its marker says what it was."""
    chat = alone(context_limit=1_000)
    chat.add("user", "Build a web page that shows the weather of a city.")
    chat.add("assistant", "Done.")
    for _ in range(30):
        chatter(chat, 10)
        assert "shows the weather" in in_view(chat)
    assert len(chat.prunings) > 3
    chat = alone(context_limit=1_000)
    chat.add("user", "Build a web page that shows the weather of a city.")
    chat.add("assistant", sized(700))
    chatter(chat, 60)
    told = "\n".join(marker.text for marker in chat.view().markers)
    assert "said: Build a web page that shows the weather of a city." in told


def test_a_failed_call_stays_with_the_call_that_mended_it():
    """The exchange that failed and the next of its tool, so that it is not made again."""
    chat = alone(max_tokens=900, max_messages=50)
    chat.add("user", "Show me the log.")
    for number, (path, said) in enumerate([("/log", "Error: no such file"), ("/var/log", "ok")]):
        call = ToolCall(f"c{number}", "read", f'{{"path": "{path}"}}')
        chat.add("assistant", "", tool_calls=[call])
        chat.add("tool", said, tool_result=f"c{number}")
    chatter(chat, 200)
    shown = chat.view().messages
    assert len(chat.prunings) > 3
    assert [item.content for item in shown if item.role == "tool"] == ["Error: no such file", "ok"]


def test_what_binds_takes_no_more_than_its_share():
    """Of many mistakes the newest stay; the talk of now has the rest of the room."""
    chat = alone(max_tokens=1_500, max_messages=60)
    for number in range(40):
        chat.add("user", f"Compile module {number}.")
        chat.add("assistant", f"Error: module {number} has an undefined symbol, exit code 1.")
        chat.add("user", f"No, I meant the other module {number}.")
        chat.add("assistant", f"Sorry, now {number} builds.")
    chatter(chat, 60)
    old = [item for item in chat.view().messages if "module" in item.content]
    assert any("module 39 has" in item.content for item in old)
    assert not any("module 1 has" in item.content for item in old)
    assert sum(item.tokens for item in old) <= 900 * BINDING_TOKENS
