"""Session transcripts of Claude Code, imported into a memory."""

import json

import pytest
from import_samples import SESSION, START, agent, at, gave, line, person, text, transcript, use

from memoranda.errors import InvalidInput
from memoranda.model.models import ToolCall, Trust

PNG = {"type": "base64", "media_type": "image/png", "data": "aaaa"}
PICTURE = {"type": "image", "source": PNG}
TALK = [
    {"type": "summary", "summary": "Moving the shop", "leafUuid": "elsewhere"},
    {"type": "file-history-snapshot", "messageId": "u0", "snapshot": {}},
    person(0, "I moved to Lisbon. Please list the shop's files."),
    agent(1, {"type": "thinking", "thinking": "So she lives there.", "signature": "x"}, answer="A"),
    agent(2, text("Let me look."), answer="A"),
    agent(3, use("t1", "Bash", command="ls"), answer="A"),
    agent(4, use("t2", "Read", path="no.txt"), answer="A"),
    person(5, [gave("t1", "prices.csv\n<system-reminder>Be tidy.</system-reminder>")]),
    person(6, [gave("t2", [text("no such file"), PICTURE], is_error=True)]),
    {"type": "system", "subtype": "turn_duration", "sessionId": SESSION, "timestamp": at(7)},
    agent(8, text("There is prices.csv.")),
]
NO_TALK = [
    person(20, "<command-name>/clear</command-name>\n<command-args></command-args>"),
    person(21, "<local-command-stdout>cleared</local-command-stdout>"),
    person(22, "Caveat: said by nobody", isMeta=True),
    person(23, "Find the bug", isSidechain=True),
    person(24, "This session continues another …", isCompactSummary=True),
    agent(25, text("API Error: 529"), isApiErrorMessage=True),
    line(26, "assistant", {"role": "assistant", "model": "<synthetic>", "content": [text("No.")]}),
    person(27, [text("[Request interrupted by user]")]),
    person(28, [PICTURE]),
    {"type": "progress", "sessionId": SESSION, "data": {}},
    {"type": "some-later-kind", "sessionId": SESSION},
]


def talk(memory, name=SESSION):
    """Roles and texts of a conversation."""
    return [(each.role, each.content) for each in memory.conversation(name).messages]


def test_a_session_is_a_conversation_with_roles_times_and_calls(plain, tmp_path):
    """Each message keeps its role, its moment, its calls and the results of these."""
    report = plain.import_(transcript(tmp_path, TALK))
    assert (report.format, report.users, report.messages) == ("claude-code", ("ana",), 5)
    asked, called, listed, failed, told = plain.conversation(SESSION).messages
    assert asked.content == "I moved to Lisbon. Please list the shop's files."
    assert (called.content, called.tool_calls) == (
        "Let me look.",
        (ToolCall("t1", "Bash", '{"command": "ls"}'), ToolCall("t2", "Read", '{"path": "no.txt"}')),
    )
    assert (listed.role, listed.content.strip(), listed.tool_result.call_id) == (
        "tool",
        "prices.csv",
        "t1",
    )
    assert (failed.content, failed.tool_result.is_error) == ("no such file", True)
    assert failed.images == ()
    assert [(each.timestamp - START).seconds for each in (asked, called, told)] == [0, 2, 8]
    (info,) = plain.conversations()
    assert (info.id, info.created_at) == (SESSION, START)
    episodes = plain.records(kind="episode", session=SESSION)
    assert [each.event_time for each in episodes] == [
        each.timestamp for each in (asked, called, listed, failed, told)
    ]
    assert [each.trust for each in episodes[:3]] == [Trust.PERSON, Trust.AGENT, Trust.EXTERNAL]
    assert plain.conversation(SESSION).context("Go on", form="anthropic").messages


def test_nothing_but_talk_comes_in(plain, tmp_path):
    """Commands, notices, thoughts, side chains, summaries and errors stay out, and are counted."""
    report = plain.import_(transcript(tmp_path, [*TALK, *NO_TALK]))
    assert report.messages == 5
    assert set(report.left_out) == {
        "lines without talk: 5",
        "commands and notices: 3",
        "lines marked isApiErrorMessage: 1",
        "lines marked <synthetic>: 1",
        "parts of the type thinking: 1",
        "lines marked isMeta: 1",
        "lines marked isSidechain: 1",
        "lines marked isCompactSummary: 1",
        "parts of the type image: 2",
    }
    said = "\n".join(words for _, words in talk(plain))
    for never in ("Be tidy", "/clear", "cleared", "Caveat", "bug", "continues", "API Error"):
        assert never not in said


def test_what_memory_told_is_no_new_evidence(plain, tmp_path):
    """Results of memory's own tools and commands, and its block in a prompt, make no episode."""
    plain.remember("Ana's brother Rui keeps bees on the roof")
    told = plain.recall("What does Rui keep?").text
    assert "bees" in told
    own = [
        person(0, f"{told}\n\nHow is the weather?"),
        agent(1, use("t1", "mcp__memory__search_memories", query="Rui")),
        person(2, [gave("t1", [text("Ana's brother Rui keeps bees on the roof")])]),
        agent(3, use("t2", "Bash", command="cd /x && memoranda search bees")),
        person(4, [gave("t2", "0.91 Ana's brother Rui keeps bees on the roof")]),
        person(5, [gave("gone", f"<system-reminder>{told}</system-reminder>")]),
    ]
    plain.import_(transcript(tmp_path, own))
    assert [each.content.strip() for each in plain.records(kind="episode")] == [
        "How is the weather?"
    ]
    assert "bees" in talk(plain)[2][1]


def test_a_session_that_was_cut_anywhere_adds_the_rest(plain, tmp_path):
    """A transcript that is written on is imported on: every message once, however it is cut."""
    whole = [*TALK, person(9, "Thanks."), agent(10, text("Gladly."))]
    for end in (4, 6, 9, len(whole)):
        plain.import_(transcript(tmp_path, whole[:end]))
    said = [words for _, words in talk(plain)]
    assert said.count("Let me look.") == said.count("Thanks.") == said.count("no such file") == 1
    calls = [call.id for each in plain.conversation(SESSION).messages for call in each.tool_calls]
    assert calls == ["t1", "t2"]


@pytest.mark.parametrize("together", [True, False])
def test_a_resumed_session_repeats_nothing(plain, tmp_path, together):
    """Lines that another session has under the same uuid are not imported again."""
    again = [each | {"sessionId": "second"} for each in TALK[2:]]
    last = person(30, "And now the taxes.", sessionId="second")
    first = transcript(tmp_path, TALK)
    second = transcript(tmp_path, [*again, last], name="second")
    for path in [tmp_path] if together else [first, second]:
        plain.import_(path)
    assert len(talk(plain)) == 5
    assert talk(plain, "second") == [("user", "And now the taxes.")]
    assert plain.import_(tmp_path).messages == 0


def test_a_folder_of_projects_is_known_and_read_whole(plain, tmp_path):
    """All sessions of all projects come in; of other files those of another format do not."""
    transcript(tmp_path / "one", TALK)
    other = [each | {"sessionId": "b", "uuid": f"b{each.get('uuid')}"} for each in TALK[2:]]
    transcript(tmp_path / "two", other, name="b")
    (tmp_path / "two" / "notes.jsonl").write_text('{"content": "x"}\n')
    report = plain.import_(tmp_path, "claude-code")
    assert (report.format, report.messages, report.records) == ("claude-code", 10, 0)
    assert any("notes.jsonl is not a file of claude-code" in line for line in report.left_out)
    assert {info.id for info in plain.conversations()} == {SESSION, "b"}


def test_characters_that_no_store_can_hold_are_replaced(plain, tmp_path):
    """NUL and half characters in the output of a tool do not hold up an import."""
    call = agent(1, use("t", "Bash", command="\x00\udc00"))
    lines = [person(0, "a\x00b \ud83d"), call, person(2, [gave("t", [text("\x00\udc00")])])]
    plain.import_(transcript(tmp_path, lines))
    said, called, output = plain.conversation(SESSION).messages
    assert (said.content, output.content) == ("a\u2400b \ufffd", "\u2400\ufffd")
    assert called.tool_calls[0].arguments == '{"command": "\u2400\ufffd"}'


def test_tags_that_are_not_closed_are_text(plain, tmp_path):
    """What only looks like a wrapper is what was said, and many of them cost no time."""
    many = "<bash-input>" * 50_000
    said = [
        "Why does <command-name> stand there?",
        "a<system-reminder>x</system-reminder>b<bash-input>",
        many,
    ]
    plain.import_(transcript(tmp_path, [person(*each) for each in enumerate(said)]))
    assert [words for _, words in talk(plain)] == [said[0], "ab<bash-input>", many]


def test_bad_lines_are_told_and_passed_over(opened, tmp_path, wordless):
    """What a crash left of a line keeps out nothing that was said before or since."""
    for bad, complaint in (
        ("{no", "line 12: not valid JSON"),
        ("3", "line 12: expected an object"),
        ({"type": "user", "sessionId": "x"}, "line 12: uuid must be text, got NoneType"),
        (person(9, "x", timestamp="noon"), "line 12: timestamp='noon' is not a time"),
    ):
        path, memory = transcript(tmp_path, TALK), opened(embedder=None, settings=wordless)
        with path.open("a", encoding="utf-8") as file:
            file.write((bad if isinstance(bad, str) else json.dumps(bad)) + "\n")
            file.write(json.dumps(person(10, "And after it?")) + "\n")
        report = memory.import_(path)
        assert any(f"{SESSION}.jsonl, {complaint}" in line for line in report.left_out), complaint
        assert "lines that cannot be read: 1" in report.left_out
        assert talk(memory)[-1][1] == "And after it?"


def test_what_was_typed_while_claude_worked_was_said(plain, tmp_path):
    """Messages that were queued are the person's; those that are told twice, once.

    What was taken back, a command of the shell and a notice of the program are not.
    """

    def queue(operation, content=None, **more):
        told = {"type": "queue-operation", "operation": operation, **more, "timestamp": at(9)}
        return told | {"sessionId": SESSION} | ({"content": content} if content else {})

    def attached(prompt, **more):
        return {
            "type": "attachment",
            "attachment": {"type": "queued_command", "prompt": prompt, **more},
            "sessionId": SESSION,
            "timestamp": at(9),
        }

    absorbed = {"reason": "absorbed_mid_turn"}
    lines = [
        *TALK,
        queue("remove", "I drink tea.", **absorbed),
        attached("I drink tea."),
        attached([text("And no sugar.")], commandMode="prompt"),
        queue("remove", "And no sugar.", **absorbed),
        queue("enqueue", "Go on."),
        queue("remove", **absorbed),
        queue("enqueue", "Go on."),
        queue("remove", "Go on.", **absorbed),
        queue("enqueue", "Thanks."),
        queue("dequeue"),
        person(10, "Thanks."),
        queue("enqueue", "Taken back"),
        queue("popAll", "Taken back"),
        queue("enqueue", "Cancelled"),
        queue("remove", "Cancelled", reason="cancelled"),
        attached("ls", commandMode="bash"),
        attached("Done", commandMode="task-notification"),
        attached("I am an agent", origin={"kind": "teammate"}),
        attached("Meta", isMeta=True),
    ]
    plain.import_(transcript(tmp_path, lines))
    assert [words for role, words in talk(plain) if role == "user"][1:] == [
        "I drink tea.",
        "And no sugar.",
        "Go on.",
        "Go on.",
        "Thanks.",
    ]
    assert plain.import_(transcript(tmp_path, lines)).messages == 0


def test_what_is_no_transcript_is_refused(plain, tmp_path):
    """A file or folder without a line of Claude Code is an error, also where it was so named."""
    (tmp_path / "x.jsonl").write_text('{"type": "note"}\n')
    with pytest.raises(InvalidInput, match="is not a transcript of Claude Code: no line has"):
        plain.import_(tmp_path / "x.jsonl", "claude-code")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="holds nothing of claude-code that can be imported"):
        plain.import_(tmp_path / "empty", "claude-code")
