"""Whatever format a file has: importing it again adds nothing, and brings nothing back."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import file_samples
import pytest
from import_samples import agent, at, chatgpt, claude, node, person, text, transcript, wrote

SAYINGS = ("I sail on Sundays", "So you sail", "I keep three bees", "And now I dance")
ROLES = ("user", "assistant", "user", "assistant")


def lines(*values):
    """Return JSON Lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def chat(number):
    """Return the first sayings as messages."""
    return [
        {"role": role, "content": said, "timestamp": at(place)}
        for place, (role, said) in enumerate(zip(ROLES[:number], SAYINGS, strict=False))
    ]


def claude_code(number):
    """Return a transcript of the first sayings."""
    said = (person(0, SAYINGS[0]), agent(1, text(SAYINGS[1])), person(2, SAYINGS[2]))
    return lines(*[*said, agent(3, text(SAYINGS[3]))][:number])


def tree(number):
    """Return an export of ChatGPT whose current branch has the first sayings."""
    nodes = [
        node(str(place), str(place - 1), said, role)
        for place, (role, said) in enumerate(zip(ROLES, SAYINGS, strict=True))
    ]
    return json.dumps([chatgpt(*nodes, current=str(number - 1))])


# The name of a file of each format, and what is in it with a number of the sayings.
FILES = {
    "memoranda": ("m.jsonl", lambda number: lines(*({"content": x} for x in SAYINGS[:number]))),
    "openai": ("o.json", lambda number: json.dumps(chat(number))),
    "session": (
        "s.jsonl",
        lambda number: lines({"_type": "metadata", "createdAt": at(0)}, *chat(number)),
    ),
    "claude-code": ("c.jsonl", claude_code),
    "chatgpt": ("conversations.json", tree),
    "claude": (
        "conversations-1.json",
        lambda number: json.dumps(
            [claude(*(wrote(place, "human", SAYINGS[place]) for place in range(number)))]
        ),
    ),
    "mem0": ("mem0.json", lambda n: json.dumps([{"id": x, "memory": x} for x in SAYINGS[:n]])),
    "mif": (
        "m.mif.json",
        lambda number: json.dumps(
            {
                "mif_version": "2.0",
                "memories": [
                    {"id": x, "content": x, "created_at": "2026-01-01"} for x in SAYINGS[:number]
                ],
            }
        ),
    ),
    "mcp-memory": (
        "graph.json",
        lambda number: lines({"type": "entity", "name": "Ana", "observations": SAYINGS[:number]}),
    ),
    "memory-md": ("MEMORY.md", lambda number: "".join(f"- {x}\n" for x in SAYINGS[:number])),
}


def test_what_is_there_forgotten_or_erased_does_not_come_again(opened, wordless, tmp_path):
    """It is known by user, format and key; what the file has more since then is added."""
    for form, (name, write) in FILES.items():
        memory, path = opened(embedder=None, settings=wordless), tmp_path / name
        coder, writer = (memory.as_user("ana", agent=agent) for agent in ("coder", "writer"))
        path.write_text(write(3))
        first = coder.import_(path)
        assert (first.format, first.records + first.messages) == (form, 3)
        one, two, three = memory.records()
        memory.forget(one.id)
        memory.forget(two.id, erase=True)
        for each in (coder, writer, memory):
            again = each.import_(path)
            assert (again.records, again.messages, again.skipped) == (0, 0, 3), form
        path.write_text(write(4))
        more = coder.import_(path)
        assert (more.records + more.messages, more.skipped) == (1, 3), form
        last, new = memory.records()
        assert (last, new.content.removeprefix("Ana: ")) == (three, SAYINGS[3]), form
        his = memory.as_user("ben").import_(path)
        assert his.records + his.messages == len(SAYINGS), form


def test_a_conversation_that_was_deleted_does_not_come_back(plain, tmp_path):
    """Whether it was erased or not; what was said since the deletion does."""
    path = tmp_path / "claude.json"
    for erase in (False, True):
        path.write_text(FILES["claude"][1](3))
        plain.import_(path)
        plain.delete_conversation("k1", erase=erase)
        assert plain.import_(path).messages == 0
        assert plain.conversations() == []
    path.write_text(FILES["claude"][1](4))
    assert plain.import_(path).messages == 1
    assert [each.content for each in plain.conversation("k1").messages] == [SAYINGS[3]]


@pytest.mark.parametrize("form", ["archive", "transcript"])
def test_imports_at_once_store_each_message_once(tmp_path, form):
    """Several processes may import the same file: each adds what is not there yet."""
    if form == "transcript":
        path = transcript(tmp_path, [person(each, f"line {each}") for each in range(60)])
    else:
        path = tmp_path / "noa.jsonl"
        with file_samples.opened() as one:
            for number in range(60):
                one.conversation(f"talk-{number}").add("user", f"line {number}")
            one.export(path)
    with ExitStack() as stack, ThreadPoolExecutor(3) as threads:
        handles = [
            stack.enter_context(file_samples.opened(location=tmp_path / "m.db")) for _ in range(3)
        ]
        list(threads.map(lambda memory: memory.import_(path), handles))
        memory, *_ = handles
        said = sorted(each.content for each in memory.records(kind="episode", limit=99))
        assert said == sorted(f"line {number}" for number in range(60))
        assert sum(info.messages for info in memory.conversations()) == len(said)
