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
from memoranda.conversation.segments import is_completed
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
    return part.title != ""


@st.composite
def transcripts(draw):
    """Draw a transcript of any shape, in which the caller names some tasks."""
    named = draw(st.dictionaries(st.integers(0, 40), st.just("tests"), max_size=3))
    said = draw(dialogues())
    return [replace(item, task=named.get(place)) for place, item in enumerate(said)]


@given(transcripts(), st.integers(0, 40))
def test_what_comes_later_changes_no_boundary(said, length):
    """The boundaries of a beginning are those of the whole."""
    parts = tasks(said)
    begun, whole = tasks(said[:length]), [part for part in parts if part.start < length]
    assert [(part.start, part.title) for part in begun] == [
        (part.start, part.title) for part in whole
    ]
    assert [part.completed for part in begun[:-1]] == [part.completed for part in whole[:-1]]
    assert not parts or parts[-1].completed == is_completed(said)


@given(transcripts())
def test_only_a_user_or_a_marker_opens_a_segment(said):
    """Without a marker, a segment begins with a user's message or with the transcript."""
    for part in tasks(said)[1:]:
        assert marked(part) or said[part.start].role == "user"
        assert said[part.start].role != "tool"


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
            assert parts[place].title == item.task


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
    assert not second.completed


# How the task before was answered | what is asked for then
SWITCHES = """\
I renamed it in 12 places. | LGTM, merged. Next please add rate limiting to the public API.
The parser is split into modules. | Ok we're done with that. Let's look at the billing service.
It's a matter of taste. | Moving on. What's the best way to store money in Postgres?
I renamed the module in 14 files. | Great work. Let's start on the payment webhook.
The soup needs twenty minutes. | Now something different: can you explain how index funds work?
The cable is probably broken. | Switching topics: what should I give my dad for his 70th birthday?
Task complete. Refactored 3 files. | Now let's work on the tests
The migration is complete. | Great, thanks. Now I'd like to set up monitoring for the website.
Here is the letter. | New topic. I need a workout plan for beginners.
The invoice has been sent. | That's finished then. On to the next task: the quarterly report.
The page loads in 300 ms now. | Great, that's done. Next task: write release notes for 2.4.
You can use a hash map for that. | Completely unrelated question: how long do I boil an egg?
The tests pass. | Closing that ticket. Next one is about dark mode in the settings page.
All 14 translations are in place. | We can close this one. Let's tackle the flaky e2e tests.
The refactoring is finished. | Okay, next up: I want to plan my vacation in August.
The report is finished. | Now on to something else: a birthday poem for my grandmother.
Your flight is confirmed. | Thanks, the flight is sorted. New request: find me a dentist in Graz.
The recipe serves four. | By the way, on a completely different note, how do I reset my router?
Okay, the bug is closed. | Next issue: #482, the date picker shows the wrong month.
Here are five names for the cat. | Drop that. I want to talk about my taxes instead.
The essay is complete. | Thank you so much. I have a new task for you: proofread my CV.
Die Suche ist jetzt schneller. | Ist gemerged. Lass uns mit dem Login weitermachen.
Das hängt vom Wetter ab. | Themenwechsel: Was koche ich heute Abend?
Erledigt. | Neues Thema. Ich brauche Hilfe bei der Steuererklärung.
He corregido los tests. | Muy bien. Pasemos a otra cosa: quiero aprender a programar en Go.
La migración está completa. | Nueva tarea: escribe un correo para el equipo de ventas.
Le rapport est terminé. | Merci. Nouvelle tâche : traduis ce contrat en anglais.
La réponse est 42. | Changeons de sujet. Comment préparer un entretien d'embauche ?
Task complete. All files were converted. | Next, I need you to plan a team event for 20 people.
It's a known limitation. | ok. let's do something else now, quiz me on European capitals
The PR is approved. | Merged and deployed, thanks. Let's pick up the next ticket, GDPR export.
The form validates now. | Before we continue with anything else, a new topic: our sprint retro.
"""


def test_a_task_begins_where_the_words_say_so():
    """A marker, an announcement, a task that is done and something new (R5.1)."""
    missed = [
        then
        for answered, then in rows(SWITCHES)
        if boundaries(tasks(talk("u: Please help me.", f"a: {answered}", f"u: {then}"))) != [2]
    ]
    assert missed == []


def test_a_task_begins_where_the_subject_changes():
    """A request at length in words of which hardly one was said; no reply, report or error."""
    before = (
        "u: Help me plan a garden.",
        "a: How large is it, and how much sun does it get?",
        "u: Ten by eight, sun from noon on.",
        "a: Then tomatoes and beans along the wall, and a path in the middle.",
        "u: And herbs?",
        "a: Basil near the tomatoes.",
    )
    for then, begins in (
        ("What should my nephew wear to his job interview at the bank on Monday?", True),
        ("How far apart do tomatoes stand along that wall, and do beans shade the basil?", False),
        ("My nephew wore a blue suit to his interview.", False),
        ("ValueError: invalid literal for int() with base 10: 'eight'. What now?", False),
        ("Which ones?", False),
    ):
        assert boundaries(tasks(talk(*before, f"u: {then}"))) == ([6] if begins else []), then


# Conversations that are one task each.
ONE_TASK = (
    """\
u: Build a small web page that shows the weather of a city.
a: Done. I created index.html and app.js.
u: Make the background blue.
a: Done, the background is blue.
u: Add an input for the city.
a: Added. The page now has an input field.
u: Great. Now let's show wind speed as well.
a: Wind speed is shown below the temperature.
u: Next, make the header a bit larger.
a: Done.
u: Handle the case when nothing is found.
a: All done. A message appears in that case.
u: Now let's work on the styling of the forecast.
a: The forecast now uses cards.
u: Perfect! Can you put the icons on the left?
a: Moved.
u: It works now. Let's add a loading spinner.
a: I've added a spinner.
u: One more thing: the favicon is missing.
a: Added favicon.ico.
u: Write a README.
a: Finished. README.md describes setup and usage.
u: Let's move the API key into an environment variable.
a: Done, it is read from WEATHER_KEY.
u: next we need unit tests
a: I wrote 6 tests, all pass.
u: Another question: how do I deploy this?
a: You can use GitHub Pages.
u: OK let's do that.
a: The workflow file is in place.
u: The page is blank after the deploy.
a: Fixed: the base path was wrong.
u: Nice, that's fixed. Please make it responsive.
a: Done. It now adapts to small screens.
u: Let's switch to Celsius by default.
a: Celsius is the default now.
u: And finally a dark mode.
a: Finished, there is a toggle in the corner.
u: Now the last thing, the footer. Put the year in it.
a: Done.
u: Great job, thanks!
a: You're welcome!
""",
    """\
u: The app crashes on startup with a KeyError. Help me find out why.
a: Please send me the traceback.
u: KeyError: 'theme' in settings.py line 40
a: The settings file lacks the key. A default helps.
u: Add one.
a: Done, the default is "light".
u: Still crashes.
a: Could you show me the new traceback?
u: Now it says AttributeError: 'NoneType' object has no attribute 'get'
a: The profile is None for new users.
u: OK so handle that.
a: I've fixed it and all tests pass.
u: Great, it starts now. But the login doesn't work any more.
a: The session cookie is not set. I fixed the domain.
u: That solved it. Now the tests fail on CI.
a: CI lacks the SECRET variable.
u: I added it. Let's see.
a: Let me know the result.
u: All green. Next problem: it's slow on startup.
a: Profiling shows 2 s in load_plugins.
u: Make it lazy.
a: Plugins are loaded on first use now.
u: Now let's write a regression test for the KeyError.
a: Test added and passing.
u: Could you check the other settings too?
a: Two more lacked defaults; both are fixed.
u: ok push it
a: Pushed. The pull request is open.
u: The reviewer asks for smaller commits.
a: I split it into four.
u: Next, update the changelog.
a: Done.
u: Is there anything else that can be None?
a: user.locale can.
u: Fix that as well.
a: Fixed.
u: Let's get to the warning in the log.
a: It comes from a deprecated call; replaced.
u: Next question, why did nobody notice?
a: There was no test with an empty profile.
u: Add one to the CI matrix.
a: Added.
u: LGTM
a: Great!
""",
)


def test_no_task_is_cut_in_two():
    """In sessions of one task each, with steps that are done and next ones, nothing else begins."""
    for session in ONE_TASK:
        assert boundaries(tasks(talk(*session.splitlines()))) == []


DEPENDENT = """\
Book the flight | The booking is done. Anything else? | Yes, and also change the seat on that flight
Refactor the parser | Task complete. Refactored 3 files. | Now revert it
Refactor the parser | Task complete. Refactored 3 files. | Now let's write tests for those files
Refactor the parser | Task complete. Refactored 3 files. | Run the tests
Add a retry | Done. | Now let's add a timeout too
Add login | Done. Login has been added. | Next, add logout
Add login | Done. Login has been added. | Now let's test
Write chapter one | I've finished chapter one. | Next, write chapter two
Fix the login | Task complete. | Now let's see: TypeError: 'NoneType' is not callable
Write the letter | Task complete. | Always answer in French
Refactor the parser | Is the task complete? | Now let's work on the tests
Refactor the parser | The first file is done. Next I do the others. | Now let's work on the tests
Move it | Moved. | Please add the footer, then we're done with that.
Move it | Moved. | Could you tell me when the next ticket is due?
"""


@each_row(("asked", "answered", "then"), rows(DEPENDENT))
def test_a_request_that_goes_on_is_not_cut_off(asked, answered, then):
    """No task begins with a next step, a message that points back, or if nothing is done."""
    assert boundaries(tasks(talk(f"u: {asked}", f"a: {answered}", f"u: {then}"))) == []


def test_thanks_may_stand_between():
    """What the user turns to may come after thanks, and a reply to them."""
    thanks = ("u: Thanks!", "a: You're welcome!")
    said = talk("u: Rename it", "a: Task complete.", *thanks, "u: Now let's work on the login page")
    assert boundaries(tasks(said)) == [4]


def test_work_after_a_completion_statement_takes_it_back():
    """A call, or a request that was no boundary, means that the task goes on."""
    done, now = "a: Task complete. Refactored 3 files.", "u: Now let's work on the tests"
    again = talk("u: Refactor it", done, "u: Undo it, please", "a: Looking into it.", now)
    assert boundaries(tasks(again)) == []
    calling = talk("u: Refactor it", done, "a: One more look.", "t: fine", now)
    calling[2] = replace(calling[2], tool_calls=(ToolCall("x", "look"),))
    calling[3] = replace(calling[3], tool_result=ToolResult("x"))
    assert boundaries(tasks(calling)) == []


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
    assert parts[1].title == "Task 2: write the changelog"


def test_a_completion_statement_near_the_end_completes_the_last_segment():
    """It stays so through thanks, and no longer once something else is asked; a marker ends all."""
    said = talk("u: Refactor it", "a: Task complete. Refactored 3 files.", "u: Thanks!")
    assert tasks(said)[-1].completed
    assert not tasks([*said, message(3, "user", "Undo it, please")])[-1].completed
    assert not tasks(said[:1])[-1].completed
    marked = [said[0], message(1, "assistant", "I look at it."), message(2, "user", "", task="P")]
    assert [part.completed for part in tasks(marked)] == [True, False]


def test_hardly_a_task_of_the_real_runs_is_cut_in_two():
    """In the 80 runs each later request needs the user, or flights, named in an earlier one."""
    path = SHARED / "tau_bench" / "airline_80.json"
    if not path.exists():
        pytest.skip("the tau-bench runs are not in ../shared/data")
    runs = [parse_messages(run["traj"]) for run in json.loads(path.read_text("utf-8"))]
    assert len(runs) == 80
    cut = turns = 0
    for run in runs:
        told = [{"tool_calls": new.tool_calls, "tool_result": new.tool_result} for new in run]
        said = [
            message(place, new.role, new.content, **told[place]) for place, new in enumerate(run)
        ]
        cut += len(boundaries(tasks(said)))
        turns += sum(new.role == "user" for new in run)
    assert cut <= turns / 100
