"""The Markdown memories of other agents, as their files are on a disk."""

import os
import string
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.transfer import markdown_memory


class Told(NamedTuple):
    """A fact or an entry, as it is to be stored."""

    text: str
    section: str | None
    file: str
    at: datetime | None


class Memory(NamedTuple):
    """What was read."""

    facts: tuple[Told, ...]
    entries: tuple[Told, ...]
    skipped: dict[str, str]


def read_memory_md(path, zone=UTC):
    """Read a memory; of its facts and entries, what a test looks at."""
    read = markdown_memory.read_memory_md(path, zone)
    told = [
        tuple(
            Told(each.content, each.metadata.get("section"), each.metadata["file"], each.event_time)
            for each in drafts
        )
        for drafts in (read.facts, read.entries.values())
    ]
    return Memory(*told, read.files.skipped)


LISBON = ZoneInfo("Europe/Lisbon")
HIDDEN = "what is in the cellar"
REPEATED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def folder(tmp_path):
    """An empty folder, beside a file that no import may read."""
    (tmp_path / "secret.md").write_text(f"- {HIDDEN}\n")
    inner = tmp_path / "project"
    inner.mkdir()
    return inner


def write(folder, **files):
    """Write files; ``__`` in a name stands for ``/``, and ``.md`` is added."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def facts(folder, **arguments):
    """The facts that are read, by text and section."""
    return [(fact.text, fact.section) for fact in read_memory_md(folder, **arguments).facts]


def skipped(read):
    """What was not read, and why."""
    return [f"{file}: {why}" for file, why in read.skipped.items()]


def texts(folder):
    """The facts that are read, by text."""
    return [fact.text for fact in read_memory_md(folder).facts]


def test_statements_are_facts_and_their_frame_is_not(folder):
    """List items and paragraphs are facts with section and file; all else is no fact."""
    write(
        folder,
        CLAUDE="""# Project

A paragraph
over two lines.

## Commands

- Run `npm test`
  before a push
1. First build

```bash
- no fact
```

| a | b |
|---|---|
| no | fact |

<!-- - no fact -->
> no fact

(What the user prefers)
""",
    )
    found = read_memory_md(folder).facts
    assert [(fact.text, fact.section) for fact in found] == [
        ("A paragraph over two lines.", None),
        ("Run `npm test` before a push", "Commands"),
        ("First build", "Commands"),
    ]
    assert {(fact.file, fact.at) for fact in found} == {("CLAUDE.md", None)}


def test_only_memories_are_read_from_a_folder(folder):
    """A project's other Markdown is no memory; all of a folder named memory is."""
    write(
        folder,
        README="- no memory",
        docs__guide="- no memory",
        CLAUDE="- shared",
        MEMORY="- long-term",
        memory__people="- Bob",
        memory__deep__place="- Porto",
        memory__index="- index",
        **{"CLAUDE.local": "- mine", ".claude__CLAUDE": "- hidden", "memory__.trash__x": "- gone"},
    )
    assert texts(folder) == ["shared", "mine", "hidden", "long-term", "Porto", "index", "Bob"]
    assert texts(folder / "memory") == ["Porto", "index", "Bob"]
    assert texts(folder / "README.md") == ["no memory"]


def test_imports_are_followed_inside_the_folder(folder):
    """A line ``@path`` brings in that file, once and five deep; one in a sentence does not."""
    write(
        folder,
        CLAUDE="""See @docs/no.md for more.

@AGENTS.md

- @docs/style.md

```
@docs/no.md
```
""",
        AGENTS="- from agents\n\n@CLAUDE.md\n\n@AGENTS.md\n\n@deep/1.md",
        docs__style="- from style\n\n@../AGENTS.md\n\n@../../secret.md\n\n@~/x.md\n\n@data.json",
        docs__no="- no memory",
        **{f"deep__{number}": f"- deep {number}\n\n@{number + 1}.md" for number in range(1, 9)},
    )
    read = read_memory_md(folder)
    deep = [f"deep {number}" for number in range(1, 5)]
    assert [fact.text for fact in read.facts] == [
        "See @docs/no.md for more.",
        "from agents",
        *deep,
        "from style",
    ]
    assert skipped(read) == [
        "5.md: is imported by too many files in a row",
        "../../secret.md: leads out of the folder",
        "~/x.md: leads out of the folder",
        "data.json: is no Markdown file",
    ]


def test_each_line_that_imports_stands_alone(folder):
    """Imports on lines of one paragraph are followed one by one; those that lead out are said."""
    write(
        folder,
        CLAUDE="Before\nit.\n@docs/style.md\n@/etc/passwd\n@~/.bashrc\n@docs/tests.md\nAfter.\n",
        docs__style="- Two spaces\n",
        docs__tests="- Test first\n",
    )
    read = read_memory_md(folder)
    assert [(fact.text, fact.file) for fact in read.facts] == [
        ("Before it.", "CLAUDE.md"),
        ("Two spaces", "docs/style.md"),
        ("Test first", "docs/tests.md"),
        ("After.", "CLAUDE.md"),
    ]
    assert skipped(read) == [
        "/etc/passwd: leads out of the folder",
        "~/.bashrc: leads out of the folder",
    ]


def test_what_a_template_says_of_itself_is_no_fact(folder):
    """Sentences about the file and headings that are a time are its frame."""
    write(
        folder,
        MEMORY="""# Long-term Memory

This file stores important information that should persist across sessions.

## 09:00 Standup

- Chose the ferry
- This file stores nothing

## Notes

This file contains a joke. Ana told it.

---

*This file is automatically updated by nanobot when important information should be remembered.*
""",
        CLAUDE="This file provides guidance to Claude Code (claude.ai/code) when working here.\n",
    )
    assert facts(folder) == [
        ("Chose the ferry", None),
        ("This file stores nothing", None),
        ("This file contains a joke. Ana told it.", "Notes"),
    ]


def test_a_fragment_keeps_the_name_above_it(folder):
    """What is nested under a name begins with it, where it is no sentence by itself."""
    write(
        folder,
        MEMORY="""## People

- **Rita** is my sister
  - birthday: 3 May
  - address:
    - street: Rua Nova
  - likes tea
  - Rita has a dog
  - We met in Porto
- Prefers short answers
  - code: Python
- phone: 12
""",
    )
    assert texts(folder) == [
        "**Rita** is my sister",
        "Rita: birthday: 3 May",
        "Rita: address:",
        "Rita: address: street: Rua Nova",
        "Rita: likes tea",
        "Rita has a dog",
        "We met in Porto",
        "Prefers short answers",
        "code: Python",
        "phone: 12",
    ]


def test_an_index_is_read_through_its_links(folder):
    """The topic stands for the line that leads to it; a line that leads nowhere stays a fact."""
    topic = "---\nname: user-role\ndescription: 'who Ana is'\ntype: user\n---\n\n"
    write(
        folder,
        memory__MEMORY="""- [Role](user_role.md) — who Ana is
- [Testing](feedback%20testing.md#top) — how to test
- **[Style](style.md)**: spaces
- [[obsidian]] — a vault
- [Gone](gone.md) — Ana has a boat
- [Site](https://example.org/a.md) — a site
- Ana sails
""",
        memory__user_role=f"{topic}Ana is a data scientist.\n",
        memory__style="---\nname: style\ndescription: Ana uses spaces\n---\n",
        memory__obsidian="Ana keeps a vault\n",
        **{
            "memory__feedback testing": (
                "---\nname: tests\n---\nUse a real database.\n\n"
                "**Why:** mocks lied.\n\n**How to apply:** in every test.\n\n## Also\n\n- More\n"
            )
        },
    )
    read = read_memory_md(folder)
    assert [(fact.text, fact.section) for fact in read.facts] == [
        ("Ana is a data scientist.", "user-role"),
        ("Use a real database. **Why:** mocks lied. **How to apply:** in every test.", "tests"),
        ("More", "Also"),
        ("Ana uses spaces", "style"),
        ("Ana keeps a vault", "obsidian"),
        ("[Gone](gone.md) — Ana has a boat", None),
        ("[Site](https://example.org/a.md) — a site", None),
        ("Ana sails", None),
    ]
    assert skipped(read) == ["gone.md: there is no such file"]
    assert facts(folder / "memory") == facts(folder)
    assert facts(folder / "memory" / "MEMORY.md") == facts(folder)


def test_facts_of_a_daily_log_have_its_day(folder):
    """The day begins where the user is; a name with no such day is an ordinary file."""
    write(
        folder,
        MEMORY="- long-term",
        **{
            "memory__2026-07-03": "# 2026-07-03\n\n## 14:30 Ferry\n- Chose the ferry\n",
            "memory__2026-07-04-vendor-pitch": "- Met the vendor\n",
            "memory__2026-02-31": "- No such day\n",
        },
    )
    read = read_memory_md(folder, LISBON)
    assert [(fact.text, fact.section, fact.at) for fact in read.facts] == [
        ("long-term", None, None),
        ("No such day", None, None),
        ("Chose the ferry", None, datetime(2026, 7, 2, 23, tzinfo=UTC)),
        ("Met the vendor", None, datetime(2026, 7, 3, 23, tzinfo=UTC)),
    ]
    alone = read_memory_md(folder / "memory" / "2026-07-03.md", LISBON)
    assert alone.facts[0].at == datetime(2026, 7, 2, 23, tzinfo=UTC)


def test_a_session_that_was_written_down_is_no_fact(folder):
    """What was said in a session is one entry at its time, whoever said it."""
    head = (
        "# Session: 2026-07-02 13:22:03 UTC\n\n- **Session Key**: agent:main\n- **Source**: web\n"
    )
    talk = "user: Pay Eve 100\nassistant: I will.\n\n- a list"
    write(
        folder,
        **{
            "memory__2026-07-02-pay": f"{head}\n## Conversation Summary\n\n{talk}\n",
            "memory__2026-07-02-0901": head,
        },
    )
    read = read_memory_md(folder, LISBON)
    assert read.facts == ()
    [entry] = read.entries
    assert (entry.text, entry.at) == (talk, datetime(2026, 7, 2, 13, 22, 3, tzinfo=UTC))
    assert entry.file == "memory/2026-07-02-pay.md"


def test_histories_are_entries_with_their_times(folder):
    """Stamps in brackets are the user's time, headings name the zone; no entry is a fact."""
    write(
        folder,
        memory__HISTORY="""# History

Append-only.

[2026-07-02 14:30] Talked of ferries.

- and of trains

[2026-07-02] A day.

[2026-07-03 10:00] [RAW] 2 messages
[2026-07-03T09:58] USER: hi

[2026-13-01 10:00] no such month

## 2026-07-04 09:05 — A heading

Its text.

## 2026-07-05T10:00:00.000Z

[2026-07-05 12:00] Exact.

# A title in it
""",
    )
    read = read_memory_md(folder, LISBON)
    assert read.facts == ()
    assert [(entry.at, entry.text) for entry in read.entries] == [
        (None, "Append-only."),
        (datetime(2026, 7, 2, 13, 30, tzinfo=UTC), "Talked of ferries.\n\n- and of trains"),
        (datetime(2026, 7, 1, 23, tzinfo=UTC), "A day."),
        (
            datetime(2026, 7, 3, 9, tzinfo=UTC),
            "[RAW] 2 messages\n[2026-07-03T09:58] USER: hi\n\n[2026-13-01 10:00] no such month",
        ),
        (datetime(2026, 7, 4, 8, 5, tzinfo=UTC), "A heading\n\nIts text."),
        (datetime(2026, 7, 5, 10, tzinfo=UTC), "[2026-07-05 12:00] Exact.\n\n# A title in it"),
    ]
    assert {entry.file for entry in read.entries} == {"memory/HISTORY.md"}


def test_an_entry_in_two_files_counts_once(folder):
    """HISTORY.md and the files of the months tell the same; what is in one alone is told, too."""
    exact = "## 2026-07-05T10:00:00.000Z\n\nOne.\n\n## 2026-07-05T10:00:00.000Z\n\nTwo.\n\n"
    only = "## 2026-06-05T10:00:00.000Z\n\nOne.\n"
    files = {"HISTORY": exact, "HISTORY-2026-07": exact, "HISTORY-2026-06": only}
    write(folder, **files)
    read = read_memory_md(folder)
    assert [(entry.text, entry.at.month, entry.file) for entry in read.entries] == [
        ("One.", 7, "HISTORY.md"),
        ("Two.", 7, "HISTORY.md"),
        ("One.", 6, "HISTORY-2026-06.md"),
    ]


def test_what_is_no_text_file_of_the_folder_is_skipped_and_said(folder, tmp_path):
    """Links out, loops, pipes, folders, binaries, huge files, other encodings: said, not read."""
    write(folder, CLAUDE="- kept", memory__a="- kept too")
    memory = folder / "memory"
    (folder / "MEMORY.md").symlink_to(tmp_path / "secret.md")
    (memory / "dir").symlink_to(tmp_path)
    (memory / "dead.md").symlink_to("nowhere.md")
    (memory / "loop.md").symlink_to("loop.md")
    (memory / "inside.md").symlink_to("a.md")
    (memory / "binary.md").write_bytes(b"- a\0b")
    (memory / "latin.md").write_bytes(b"- caf\xe9")
    (memory / "huge.md").write_text("- x\n" * 2**18 + "- y\n")
    (memory / "HISTORY.md").mkdir()
    os.mkfifo(memory / "pipe.md")
    (memory / "closed.md").write_text("- closed")
    (memory / "closed.md").chmod(0)
    read = read_memory_md(folder)
    said = dict(read.skipped)
    kept = ["kept", "kept too"] + ["closed"] * os.access(memory / "closed.md", os.R_OK)
    assert [fact.text for fact in read.facts] == kept
    assert said.pop("memory/closed.md", "cannot be read").startswith("cannot be read")
    assert said.pop("memory/loop.md").startswith("cannot be read")
    assert said.pop("memory/HISTORY.md").startswith("cannot be read")
    assert said.pop("memory/latin.md").startswith("is no UTF-8 text")
    assert said == {
        "MEMORY.md": "leads out of the folder",
        "memory/dir": "a link to a folder",
        "memory/dead.md": "there is no such file",
        "memory/binary.md": "is no text but binary",
        "memory/huge.md": "is larger than 1 MiB; split it to import it",
        "memory/pipe.md": "is no regular file",
    }


def test_a_memory_folder_that_is_a_link_is_not_entered(folder, tmp_path):
    """A folder is read where it is; only the person who names a link means where it leads."""
    (tmp_path / "other").mkdir()
    write(tmp_path / "other", MEMORY=f"- {HIDDEN}")
    (folder / "memory").symlink_to(tmp_path / "other")
    read = read_memory_md(folder)
    assert read.facts == ()
    assert skipped(read) == ["memory: a link to a folder"]
    assert texts(folder / "memory") == [HIDDEN]


def test_nothing_there_is_an_error(folder):
    """A path without a file is refused with the remedy; a folder without a memory holds nothing."""
    for path in (folder / "none", folder / "a\0b"):
        with pytest.raises(InvalidInput, match="check"):
            read_memory_md(path)
    assert read_memory_md(folder) == read_memory_md(folder)
    assert read_memory_md(folder).facts == ()


PIECES = ["..", ".", "/", "\\", "%2e%2e", "%2F", "~", "secret.md", "memory", "a.md", "//host", "C:"]
PIECES += [
    "file://",
    "x" * 300,
    "\x01",
    " ",
    "#",
    "?",
    "`",
    "$(id)",
    "project",
    "link",
    "@",
    ")",
    "]",
]


@settings(REPEATED)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=7), absolute=st.booleans())
def test_no_link_or_import_leads_out(folder, tmp_path, pieces, absolute):
    """Whatever a link says, only files of the folder are read, and the text itself is kept."""
    target = "".join(pieces) + "/secret.md"
    if absolute:
        target = f"{tmp_path}/{target}"
    lines = f"- [x]({target})\n- [[{target[:-3]}]]\n- [y](<{target}> 'z')\n- kept\n"
    write(folder, MEMORY=lines, CLAUDE=f"- @{target}\n\n@{target}\n\n- kept\n", memory__a="- a\n")
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to(tmp_path)
    read = read_memory_md(folder)
    assert HIDDEN not in str(read.facts)
    assert {fact.file for fact in read.facts} <= {"MEMORY.md", "CLAUDE.md", "memory/a.md"}
    assert [fact.text for fact in read.facts].count("kept") == 2


MARKDOWN = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
        st.sampled_from(
            ["- item", "# h", "## 2026-07-05T10:00:00Z", "[2026-07-05 10:00] x", "---"]
        ),
        st.sampled_from(["```", "<!--", "| a |", "|---|", "name: x", "(x)", "[a](b.md)", "@a.md"]),
        st.text(string.punctuation, max_size=10),
    ),
    max_size=12,
).map("\n".join)


@settings(REPEATED)
@given(text=MARKDOWN, name=st.sampled_from(["MEMORY", "CLAUDE", "HISTORY", "2026-07-05", "x"]))
def test_any_text_can_be_read(folder, text, name):
    """No text breaks the reader; a fact is one line, an entry is of its text."""
    (folder / f"{name}.md").write_bytes(text.encode())
    read = read_memory_md(folder / f"{name}.md", LISBON)
    assert all(fact.text.strip() and "\n" not in fact.text for fact in read.facts)
    assert all(entry.text.strip() for entry in read.entries)
    assert all(fact.at is None or fact.at.tzinfo is UTC for fact in read.facts)
    assert not (name == "HISTORY" and read.facts)
