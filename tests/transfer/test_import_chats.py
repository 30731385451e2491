"""The exports of ChatGPT and claude.ai, imported into a memory."""

import json
import sqlite3
import zipfile
from contextlib import closing

import pytest
from import_samples import START, at, chatgpt, claude, node, text, written, wrote
from tables import each_row

from memoranda.errors import InvalidInput

TRIP = chatgpt(
    node("root", None),
    node("hidden", "root", "Be brief.", metadata={"is_visually_hidden_from_conversation": True}),
    node("system", "hidden", "You are …", role="system"),
    node("q", "system", "I moved to Lisbon.", create_time=START.timestamp() + 5),
    node("given-up", "q", "An answer nobody kept", role="assistant"),
    node("thoughts", "q", {"content_type": "thoughts", "thoughts": []}, role="assistant"),
    node("call", "thoughts", "search(…)", role="assistant", recipient="web"),
    node("tool", "call", "A page", role="tool"),
    node(
        "a",
        "tool",
        {
            "content_type": "multimodal_text",
            "parts": [
                "How nice\ue200cite\ue202turn0\ue201!",
                {"content_type": "image_asset_pointer"},
            ],
        },
        role="assistant",
    ),
    current="a",
)
GARDEN = claude(
    # What a person pasted is nobody's words, and kept where it is all.
    wrote(1, "human", "", attachments=[{"extracted_content": "I moved to Porto."}]),
    wrote(
        2,
        "assistant",
        "placeholder",
        content=[{"type": "thinking", "thinking": "hm"}, {"type": "tool_use"}, text("How nice!")],
    ),
    wrote(3, "human", "From before the blocks", content=[]),
    wrote(4, "human", " "),
    wrote(5, "human", "", files=[{"file_name": "map.png"}]),
)


def said(memory, name):
    """Roles and texts of a conversation."""
    return [(each.role, each.content) for each in memory.conversation(name).messages]


def zipped(path, name, value):
    """Write an export as it is sent."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export/user.json", "{}")
        archive.writestr(name, json.dumps(value))
    return path


def test_the_current_branch_of_chatgpt_comes_in(plain, tmp_path):
    """What was on the screen last is a conversation; all else is counted; times are kept."""
    report = plain.import_(written(tmp_path / "conversations.json", [TRIP]))
    assert (report.format, report.messages) == ("chatgpt", 2)
    assert said(plain, "c1") == [("user", "I moved to Lisbon."), ("assistant", "How nice!")]
    first, last = plain.conversation("c1").messages
    assert (first.timestamp - START).seconds == (last.timestamp - START).seconds == 5
    assert (first.task, last.task) == ("A trip", None)
    assert set(report.left_out) == {
        "messages of system: 1",
        "messages of tool: 1",
        "messages of user: 1",
        "messages of assistant: 1",
        "parts of the type thoughts: 1",
        "parts of the type image_asset_pointer: 1",
    }


def test_what_was_written_with_claude_comes_in(plain, tmp_path):
    """The words of the person and of Claude, with their times; thoughts and files stay out."""
    report = plain.import_(written(tmp_path / "conversations.json", [GARDEN]))
    assert (report.format, report.messages) == ("claude", 4)
    assert said(plain, "k1") == [
        ("user", "```\nI moved to Porto.\n```"),
        ("assistant", "How nice!"),
        ("user", "From before the blocks"),
        ("user", "```\nmap.png\n```"),
    ]
    plain.consolidate()
    assert plain.records(kind="fact") == []
    assert plain.conversation("k1").messages[1].timestamp.isoformat().startswith(at(2)[:19])
    assert set(report.left_out) == {
        "parts of the type thinking: 1",
        "parts of the type tool_use: 1",
    }


def test_the_archive_of_an_export_is_read(opened, tmp_path, wordless):
    """The ZIP file is imported as it came; again, or unpacked, it adds nothing."""
    for name, value, form in (
        ("conversations.json", TRIP, "chatgpt"),
        ("data/conversations-001.json", GARDEN, "claude"),
    ):
        memory = opened(embedder=None, settings=wordless)
        path = zipped(tmp_path / f"{form}.zip", name, [value])
        report = memory.import_(path)
        assert (report.format, report.messages > 1) == (form, True)
        assert memory.import_(path).messages == 0
        folder = tmp_path / form / "2026-08-24"
        folder.mkdir(parents=True)
        (folder / "user.json").write_text("{}")
        written(folder / "conversations-000.json", [value])
        for unpacked in (folder, folder.parent, folder / "conversations-000.json"):
            assert memory.import_(unpacked).format == form
            assert memory.import_(unpacked, form).messages == 0


def test_an_export_whole_as_it_was_sent_is_no_error_of_a_strict_import(plain, tmp_path):
    """What stands beside the conversations holds no talk, and is counted by its name."""
    path = zipped(tmp_path / "export.zip", "export/conversations.json", [TRIP])
    report = plain.import_(path, strict=True)
    assert report.messages == 2
    assert "files that hold no talk (user.json): 1" in report.left_out


def test_what_cannot_be_read_of_an_export_is_named_and_passed_over(plain, tmp_path):
    """The report says where it stands and why; all others come in, also those beside it."""
    bad_time = chatgpt(node("q", None, "Hi", create_time="soon"), current="q", conversation_id="c2")
    cases = [
        ([TRIP, bad_time], "item 2, message q: create_time='soon' is not a time"),
        ([3, TRIP], "item 1: expected an object"),
        ([{"title": "x"}, GARDEN], "item 1: expected a conversation with messages"),
        ([claude(3, wrote(9, "human", "Ho"), uuid="k2")], "item 1, message 1: expected an object"),
    ]
    for value, complaint in cases:
        path = written(tmp_path / "c.json", value)
        with pytest.raises(InvalidInput, match=complaint):
            plain.import_(path, strict=True)
        report = plain.import_(path)
        assert any(complaint in line and "passed over" in line for line in report.left_out)
        assert "lines that cannot be read: 1" in report.left_out
    assert sorted(info.id for info in plain.conversations()) == ["c1", "c2", "k1", "k2"]


def test_a_file_that_is_no_export_is_refused(plain, tmp_path):
    """Where nothing can be read, the error names the first thing."""
    with pytest.raises(InvalidInput, match="item 1, message 1: expected an object"):
        plain.import_(written(tmp_path / "c.json", [{"chat_messages": [3]}]))
    (tmp_path / "bad.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(InvalidInput, match=r"bad\.zip holds nothing that can be imported"):
        plain.import_(tmp_path / "bad.zip")
    for value in (
        {"a": 1},
        {"inserted_at": AT, "mapping": {"1": {"message": {"fragments": []}}}},
        {"name": "Trip", "createdAt": 1785578400000, "messages": [{"versions": []}]},
    ):
        with pytest.raises(InvalidInput, match=r"the format is unknown.* import --help lists"):
            plain.import_(zipped(tmp_path / "x.zip", "conversations.json", [value]))
    assert plain.conversations() == []


ASKED, ANSWERED = "I live in Lisbon.", "Nice."
AT = "2026-08-01T10:00:00Z"
OF_OPEN_WEBUI = {
    "1": {"id": "1", "parentId": None, "role": "user", "content": ASKED, "timestamp": 1785578400},
    "2b": {"id": "2b", "parentId": "1", "role": "assistant", "content": "Given up"},
    "2": {
        "id": "2",
        "parentId": "1",
        "role": "assistant",
        "content": f'<details type="reasoning" done="true">\n> hm\n</details>\n{ANSWERED}',
    },
}
OF_OPEN_WEBUI_SINCE = OF_OPEN_WEBUI | {
    "2": {
        "id": "2",
        "parentId": "1",
        "role": "assistant",
        "content": "",
        "output": [
            {"type": "reasoning", "content": [{"type": "output_text", "text": "hm"}]},
            {"type": "function_call", "name": "search", "arguments": "{}"},
            {"type": "function_call_output", "output": [{"type": "input_text", "text": "x"}]},
            {"type": "message", "content": [{"type": "output_text", "text": ANSWERED}]},
        ],
    }
}
OF_LIBRECHAT = [
    {"messageId": "1", "parentMessageId": "0", "sender": "User", "text": ASKED, "createdAt": AT},
    {
        "messageId": "2",
        "parentMessageId": "1",
        "sender": "GPT-5",
        "isCreatedByUser": False,
        "text": "",
        "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": ANSWERED}],
    },
]
OF_SILLYTAVERN = [
    {"user_name": "Ana", "character_name": "Seraph"},
    {"name": "Ana", "is_user": True, "send_date": "August 1, 2026 10:00am", "mes": ASKED},
    {"name": "Seraph", "is_user": False, "mes": ANSWERED},
    {"name": "System", "is_user": False, "is_system": True, "mes": "Hidden"},
]
ACTIVITY = {"header": "Gemini Apps", "products": ["Gemini Apps"], "time": AT}
# The forms that each program's files have or had, all with the same talk.
SHAPES = [
    (
        "open-webui",
        [{"id": "c", "chat": {"history": {"currentId": "2", "messages": OF_OPEN_WEBUI}}}],
    ),
    (
        "open-webui",
        [{"id": "c", "chat": {"history": {"currentId": "2", "messages": OF_OPEN_WEBUI_SINCE}}}],
    ),
    ("open-webui", {"id": "c", "chat": {"messages": [OF_OPEN_WEBUI["1"], OF_OPEN_WEBUI["2"]]}}),
    ("librechat", {"conversationId": "c", "messages": OF_LIBRECHAT}),
    (
        "librechat",
        {
            "conversationId": "c",
            "recursive": True,
            "messages": [OF_LIBRECHAT[0] | {"children": [OF_LIBRECHAT[1]]}],
        },
    ),
    (
        "librechat",
        {
            "conversationId": "c",
            "exportAt": "10:00:00 GMT+0000",
            "recursive": True,
            "messagesTree": [
                OF_LIBRECHAT[0]
                | {
                    "isCreatedByUser": True,
                    "children": [
                        OF_LIBRECHAT[1] | {"messageId": "2b", "text": "Given up", "children": []},
                        OF_LIBRECHAT[1] | {"children": []},
                    ],
                }
            ],
        },
    ),
    ("sillytavern", "\n".join(map(json.dumps, OF_SILLYTAVERN))),
    *(
        (
            "sillytavern",
            "\n".join(map(json.dumps, ({"chat_metadata": {}, **head}, *OF_SILLYTAVERN[1:]))),
        )
        for head in ({}, {"user_name": "unused", "character_name": "unused"})
    ),
    *(
        (
            "sillytavern",
            "\n".join(
                map(json.dumps, (OF_SILLYTAVERN[1] | {"send_date": date}, OF_SILLYTAVERN[2]))
            ),
        )
        for date in ("2026-08-01@10h00m00s", "2026-8-1 @10h 00m 00s 123ms", AT, 1785578400000)
    ),
    (
        "gemini",
        [
            ACTIVITY | {"title": f"Prompted {ASKED}", "safeHtmlItem": [{"html": "<p>Nice.</p>"}]},
            ACTIVITY | {"title": "Used an Assistant feature"},
        ],
    ),
    ("claude", [claude(wrote(1, "human", ASKED), wrote(2, "assistant", ANSWERED))]),
    (
        "chatgpt",
        {
            "conversations": [
                chatgpt(
                    node("1", None, ASKED, create_time=None, update_time=1785578400.0),
                    node("2", "1", ANSWERED, role="assistant"),
                    current=None,
                )
            ]
        },
    ),
    (
        "chatgpt",
        [
            chatgpt(
                node("2", "1", ANSWERED, role="assistant"),
                node("1", None, ASKED),
                current="gone",
                create_time=None,
                update_time=1785578400.0,
            )
        ],
    ),
]


@each_row("form, content", SHAPES)
def test_each_shape_of_a_file_gives_its_talk(opened, tmp_path, wordless, form, content):
    """Words, roles and the time are read, the branch that was shown last, and nothing twice."""
    memory = opened(embedder=None, settings=wordless)
    path = tmp_path / "talk.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    report = memory.import_(path)
    assert (report.format, report.conversations, report.messages) == (form, 1, 2)
    (info,) = memory.conversations()
    assert said(memory, info.id) == [("user", ASKED), ("assistant", ANSWERED)]
    if form != "claude":
        assert memory.conversation(info.id).messages[0].timestamp.isoformat()[:16] == AT[:16]
    assert memory.import_(path).messages == 0


def test_ids_of_messages_may_be_those_of_another_conversation(plain, tmp_path):
    """As in exports that number the messages of each conversation."""
    nodes = node("1", None, ASKED), node("2", "1", ANSWERED, role="assistant")
    talks = [chatgpt(*nodes, current="2", conversation_id=name) for name in ("c", "d")]
    path = written(tmp_path / "conversations.json", talks)
    assert plain.import_(path).messages == 4
    assert said(plain, "c") == said(plain, "d")
    assert plain.import_(path).messages == 0


def test_a_database_of_the_agents_sdk_has_its_sessions(plain, tmp_path):
    """Each session is a conversation, whatever form its items have; another database is refused."""
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE agent_messages (id INTEGER, session_id, message_data, created_at)"
        )
        answer = {
            "type": "message",
            "role": "assistant",
            "content": [text(ANSWERED) | {"type": "output_text"}],
        }
        for number, item in enumerate(({"role": "user", "content": ASKED}, answer, "{")):
            data = item if isinstance(item, str) else json.dumps(item)
            row = (number, "trip", data, "2026-08-01 10:00:00")
            database.execute("INSERT INTO agent_messages VALUES (?, ?, ?, ?)", row)
    report = plain.import_(path)
    assert (report.format, report.messages) == ("openai-agents", 2)
    assert said(plain, "trip") == [("user", ASKED), ("assistant", ANSWERED)]
    assert "sessions.db, row 3: not valid JSON" in report.left_out[0]
    assert plain.import_(path).messages == 0
    with closing(sqlite3.connect(tmp_path / "other.db")) as database, database:
        database.execute("CREATE TABLE x (y)")
    with pytest.raises(InvalidInput, match=r"other\.db is a database of nothing .* memoranda copy"):
        plain.import_(tmp_path / "other.db")
