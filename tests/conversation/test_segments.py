"""Segments: where tasks begin, and that nothing is cut off which is still needed."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import message_samples
import pytest
from dialogues import dialogues, tasks
from hypothesis import given
from hypothesis import strategies as st
from message_samples import NOON, ROLES
from tables import each_row

from memoranda.conversation.formats.parse import parse_messages
from memoranda.conversation.segments import START, Segmenter
from memoranda.model.models import ToolCall, ToolResult

SHARED = Path(__file__).parents[3] / "shared" / "data"


def message(place, role, content, *, minutes=None, **fields):
    """Make the message at a place of a transcript."""
    moment = NOON + timedelta(minutes=place if minutes is None else minutes)
    return message_samples.message(role, content, id=f"{place}", timestamp=moment, **fields)


def talk(*lines):
    """Make a transcript of lines such as ``u: Hello``."""
    return [
        message(place, ROLES[line[0]], line.partition(":")[2].strip())
        for place, line in enumerate(lines)
    ]


def rows(table):
    """Return the rows of a table, each as its cells."""
    return [line.split(" | ") for line in table.splitlines()]


def boundaries(parts):
    """Return where one task ends and the next begins."""
    return [part.start for part in parts[1:]]


def marked(part):
    """Return whether a segment begins where the caller or a text says so."""
    return part.boundary.why in {"the caller says so", "a marker says so"}


@st.composite
def transcripts(draw):
    """Draw a transcript of any shape, in which the caller names some tasks."""
    named = draw(st.dictionaries(st.integers(0, 40), st.sampled_from(["tests", ""]), max_size=3))
    said = draw(dialogues())
    return [replace(item, task=named.get(place)) for place, item in enumerate(said)]


@given(transcripts())
def test_tasks_are_the_whole_transcript_in_order(said):
    """Each message is in one task, none is empty, and the last one ends at the end."""
    parts = tasks(said)
    assert [part.start for part in parts] == [0, *[part.end for part in parts[:-1]]][: len(parts)]
    assert all(part.start < part.end for part in parts)
    assert (parts[-1].end if parts else 0) == len(said)


@given(transcripts(), st.integers(0, 40))
def test_what_comes_later_changes_no_boundary(said, length):
    """The boundaries of a beginning are those of the whole; fed one by one they are the same."""
    parts = tasks(said)
    begun, whole = tasks(said[:length]), [part for part in parts if part.start < length]
    assert [(part.start, part.boundary) for part in begun] == [
        (part.start, part.boundary) for part in whole
    ]
    assert [part.completed for part in begun[:-1]] == [part.completed for part in whole[:-1]]
    segmenter = Segmenter()
    live = enumerate([segmenter.add(item) for item in said])
    at_once = {part.start: part.boundary for part in parts if part.boundary is not START}
    assert {place: each for place, each in live if each is not None} == at_once
    assert not parts or parts[-1].completed == segmenter.completed


@given(transcripts())
def test_only_a_user_or_a_marker_opens_a_segment(said):
    """Without a marker, a segment begins with a user's message or with the transcript."""
    for part in tasks(said)[1:]:
        assert marked(part) or said[part.start].role == "user"
        assert said[part.start].role != "tool"
        assert part.boundary.why


@given(transcripts())
def test_a_call_and_its_results_never_part(said):
    """Between a call and its result no segment begins, unless a marker begins it."""
    starts = [part.start for part in tasks(said) if not marked(part)]
    called = {call.id: place for place, item in enumerate(said) for call in item.tool_calls}
    for place, item in enumerate(said):
        if item.tool_result is not None and item.tool_result.call_id in called:
            assert not any(called[item.tool_result.call_id] < start <= place for start in starts)


@given(transcripts())
def test_a_task_that_the_caller_names_begins_a_segment(said):
    """Where a user's or a system message names a task, a boundary bears its title."""
    parts = {part.start: part for part in tasks(said)}
    for place, item in enumerate(said):
        if item.task is not None and item.role in {"user", "system"}:
            assert marked(parts[place])
            assert parts[place].boundary.title == (item.task or None)


def test_a_mark_on_a_tool_message_waits_until_nothing_is_parted():
    """A task named while results are due begins with the first message after them."""
    calls = (ToolCall("x", "find"), ToolCall("y", "find"))
    said = [
        message(0, "user", "Find both."),
        message(1, "assistant", "", tool_calls=calls),
        message(2, "tool", "one", tool_result=ToolResult("x"), task="Report"),
        message(3, "tool", "two", tool_result=ToolResult("y")),
        message(4, "assistant", "Here is the report."),
    ]
    parts = tasks(said)
    assert [(part.start, part.boundary.title) for part in parts] == [(0, None), (4, "Report")]


def test_the_workflow_of_the_requirements():
    """A finished refactoring and "now let's work on the tests" is a task boundary (seed 000)."""
    said = talk(
        "s: You are a coding agent.",
        "u: Refactor the parser into modules.",
        "a: I will split it by statement.",
        "a: Task complete. Refactored 3 files.",
        "u: Now let's work on the tests",
        "a: Sure.",
    )
    first, second = tasks(said)
    assert (first.start, first.end, first.completed) == (0, 4, True)
    assert "said to be complete" in second.boundary.why
    assert not second.completed


# What was asked for | how it was answered | what is asked for then
COMPLETED = """\
Rename the config loader | Done. I renamed it in 12 places. | Next, let's plan the release.
Fix the login bug | I've fixed it and all tests pass. | Great, thanks. Now let's add a dark mode.
Fix the login bug | The fix has been deployed. | Perfect. New topic: what shall we cook on Friday?
Translate this letter | Done! Here it is. | Write a Python function that parses CSV files.
Fix the upload | All done. | That works, thanks. Let's move on to the release notes.
Book a table at Luigi's | Your table has been booked. Anything else? | Now I'd like to plan a party
Migrate the data | Migration complete. | ok, now let's work on the login page
Create the endpoints | Finished. All have been created. | Moving on: let's tackle the frontend.
"""


@each_row(("asked", "answered", "then"), rows(COMPLETED))
def test_a_new_request_after_a_finished_task_is_a_boundary(asked, answered, then):
    """It is one right after the completion statement, and after thanks and a reply to them."""
    for between in ((), ("u: Thanks!", "a: You're welcome!")):
        parts = tasks(talk(f"u: {asked}", f"a: {answered}", *between, f"u: {then}"))
        assert parts[-1].start == 2 + len(between)
        assert "said to be complete" in parts[-1].boundary.why
        assert parts[-2].completed


DEPENDENT = """\
Book the flight | The booking is done. Anything else? | Yes, and also change the seat on that flight
Refactor the parser | Task complete. Refactored 3 files. | Now revert it
Refactor the parser | Task complete. Refactored 3 files. | Now let's write tests for those files
Refactor parser.py | Task complete. | Next, let's work on the docs of parser.py
Book a flight to Lisbon | Your flight has been booked. | Now let's find a hotel in Lisbon
Cancel HAT136 | Done: it has been cancelled. | Now let's look for seats on HAT136
Add a retry | Done. | Now add a timeout too
Write a poem | Done! Here it is. | Make it shorter
Write a poem about rain | Done! Here it is. | Now let's make the second stanza longer
Deploy | The deployment is complete. | Now let's go back to the bug from before
Add login | Done. Login has been added. | Next, add logout
Add login | Done. Login has been added. | run the tests
Add login | Done. Login has been added. | Now let's test
Write chapter one | I've finished chapter one. | Next, write chapter two
Plan the trip | All done, the trip is planned. | Now let's work on the budget for it
Fix the login | Done, it is fixed. | Now let's see: TypeError: 'NoneType' is not callable
Paint the button | Done. Which colour should the border have? | Use a light blue
Write the letter | Done! Here it is. | Always answer in French
Refactor the parser | Is the task complete? | Now let's work on the tests
Refactor the parser | The first file is done. Next I do the others. | Now let's work on the tests
"""


@each_row(("asked", "answered", "then"), rows(DEPENDENT))
def test_a_request_that_leans_on_the_task_is_not_cut_off(asked, answered, then):
    """No task begins with a message that needs what was said, or if nothing is done."""
    assert boundaries(tasks(talk(f"u: {asked}", f"a: {answered}", f"u: {then}"))) == []


def test_work_after_a_completion_statement_takes_it_back():
    """A call, or a request that was no boundary, means that the task goes on."""
    done, now = "a: Task complete. Refactored 3 files.", "u: Now let's work on the tests"
    again = talk("u: Refactor it", done, "u: Undo it, please", "a: Looking into it.", now)
    assert boundaries(tasks(again)) == []
    calling = talk("u: Refactor it", done, "a: One more look.", "t: fine", now)
    calling[2] = replace(calling[2], tool_calls=(ToolCall("x", "look"),))
    calling[3] = replace(calling[3], tool_result=ToolResult("x"))
    assert boundaries(tasks(calling)) == []


def test_a_new_task_starts_without_ties_to_those_before():
    """A name of an earlier task ties nothing any more, and its completion says nothing."""
    said = talk(
        "u: Refactor parser.py",
        "a: Task complete.",
        "u: Now let's work on the release notes",
        "a: All done! The notes are in the wiki.",
        "u: Next, let's work on the docs of parser.py",
    )
    assert boundaries(tasks(said)) == [2, 4]
    marked = talk("u: Refactor it", "a: Task complete.", "u: Hello", "u: Now let's plan a party")
    assert boundaries(tasks(marked)) == [3]
    marked[2] = replace(marked[2], task="Party")
    assert boundaries(tasks(marked)) == [2]


def test_a_marker_in_the_text_is_a_boundary_with_a_title():
    """Not so the one with which the talk begins: there is nothing before it to end."""
    parts = tasks(
        talk(
            "s: You help.",
            "u: Task: refactor the parser",
            "a: How far?",
            "u: ## Task 2: write the changelog\nBriefly.",
        )
    )
    assert [part.start for part in parts] == [0, 3]
    assert marked(parts[1])
    assert parts[1].boundary.title == "Task 2: write the changelog"


def test_a_completion_statement_near_the_end_completes_the_last_segment():
    """It stays so through thanks, and no longer once something else is asked; a marker ends all."""
    said = talk("u: Refactor it", "a: Task complete. Refactored 3 files.", "u: Thanks!")
    assert tasks(said)[-1].completed
    assert not tasks([*said, message(3, "user", "Undo it, please")])[-1].completed
    assert not tasks(said[:1])[-1].completed
    marked = [said[0], message(1, "assistant", "I look at it."), message(2, "user", "", task="P")]
    assert [part.completed for part in tasks(marked)] == [True, False]


def test_a_long_task_takes_bounded_memory():
    """However much is said and called, and never answered, only so much is kept."""
    segmenter = Segmenter()
    for place in range(80):
        words = " ".join(f"word{number}" for number in range(place * 100, place * 100 + 100))
        segmenter.add(message(place, "user", words + "?", minutes=0))
        calls = [ToolCall(f"{place}.{n}", "find", '{"id": "HAT136"}') for n in range(5)]
        segmenter.add(message(place, "assistant", "", tool_calls=tuple(calls)))
    kept = segmenter._links
    assert max(len(kept._names), len(kept._words)) <= 4_000
    assert len(kept._unread) <= 500
    assert len(segmenter._due) <= 256
    assert len(segmenter._heard) <= 4


def test_no_task_of_the_real_runs_is_cut_in_two():
    """In the 80 runs each later request needs the user, or flights, named in an earlier one."""
    path = SHARED / "tau_bench" / "airline_80.json"
    if not path.exists():
        pytest.skip("the tau-bench runs are not in ../shared/data")
    runs = [parse_messages(run["traj"]) for run in json.loads(path.read_text("utf-8"))]
    assert len(runs) == 80
    for run in runs:
        told = [{"tool_calls": new.tool_calls, "tool_result": new.tool_result} for new in run]
        said = [
            message(place, new.role, new.content, **told[place]) for place, new in enumerate(run)
        ]
        assert boundaries(tasks(said)) == []
