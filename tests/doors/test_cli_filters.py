"""What narrows a search or a list, and what goes through a pipe."""

import json
import os
import subprocess
import sys

import pytest
from tables import each_row

from memoranda import Memory

TASKS = (
    ("ship the atlas", "2025-03-01", {"project": "atlas", "priority": 3}, ["work"]),
    ("print the atlas", "2025-03-02", {"project": "atlas", "priority": 1}, ["work", "paper"]),
    ("ship to borneo", "2025-03-03", {"project": "borneo", "priority": 2, "open": True}, ["sea"]),
)


@pytest.fixture(autouse=True)
def _tasks(tmp_path, monkeypatch, told):
    """A memory of three records with metadata and tags."""
    for name in os.environ:
        if name.startswith("MEMORANDA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "UTC")
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "agent.db"))
    monkeypatch.chdir(tmp_path)
    for content, day, metadata, tags in TASKS:
        pairs = [f"--metadata={key}={json.dumps(value)}" for key, value in metadata.items()]
        marks = [f"--tag={tag}" for tag in tags]
        record = told("remember", content, "--event-time", day, "--session", day, *pairs, *marks)
        assert (record["metadata"], record["tags"]) == (metadata, tags)


@each_row(
    ("filters", "places"),
    [
        ((), [0, 1, 2]),
        (("--metadata", "project=atlas"), [0, 1]),
        (("--metadata", "project!=atlas"), [2]),
        (("--metadata", "priority>=2"), [0, 2]),
        (("--metadata", "priority>1", "--metadata", "priority<3"), [2]),
        (("--metadata", "project=atlas", "--metadata", "priority<=1"), [1]),
        (("--metadata", '{"project": {"in": ["borneo", "celebes"]}}'), [2]),
        (("--metadata", "open=true"), [2]),
        (("--metadata", 'open="true"'), []),
        (("--tag", "work"), [0, 1]),
        (("--tag", "work", "--tag", "paper"), [1]),
        (("--since", "2025-03-02"), [1, 2]),
        (("--since", "2025-03-02", "--until", "2025-03-03"), [1]),
        (("--session", "2025-03-03"), [2]),
        (("--kind", "fact", "--tag", "sea"), [2]),
        (("--kind", "episode"), []),
    ],
)
def test_search_and_list_take_the_same_filters(told, filters, places):
    """By metadata with operators, tags, time, session and kind; several have all to be met."""
    wanted = [TASKS[place][0] for place in places]
    assert [record["content"] for record in told("list", *filters)] == wanted
    found = told("search", "ship print atlas borneo", *filters)
    assert sorted(hit["content"] for hit in found) == sorted(wanted)


def test_pages_by_offset_join(told, run):
    """Pages of a list, either way, and of a search hold each record once."""
    contents = [content for content, *_ in TASKS]
    for order, wanted in (((), contents), (("--newest-first",), contents[::-1])):
        pages = [told("list", *order, "--limit", "2", "--offset", str(n))[:2] for n in (0, 2)]
        assert [record["content"] for page in pages for record in page] == wanted
    whole = [hit["id"] for hit in told("search", "ship atlas", "--limit", "3")]
    rest = told("search", "ship atlas", "--limit", "3", "--offset", "1")
    assert [hit["id"] for hit in rest] == whole[1:]
    assert "--offset 2" in run("list", "--limit", "2").stderr


@each_row(
    ("arguments", "reason"),
    [
        (("list", "--metadata", "priority"), "write key=value, key!=value or key>=3"),
        (("search", "x", "--metadata", "{"), "is no JSON"),
        (("list", "--metadata", "a=1", "--metadata", "a=2"), "a is given another value before"),
        (("list", "--metadata", "a>x", "--metadata", "a=2"), "a is given another value before"),
        (("list", "--metadata", "a=1", "--metadata", "a>2"), "a is given another value before"),
        (("list", "--metadata", "a>[1]"), "must be a number or a text"),
        (("remember", "x", "--metadata", "a>=3"), "write key=value"),
        (("list", "--since", "spring"), "write it as 2025-03-31"),
        (("list", "--kind", "opinion"), "opinion"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(run, arguments, reason):
    """With one line that names the value and how to write it."""
    (line,) = run(*arguments, code=1).stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line


def memoranda(*arguments, stdin=None):
    """Run the command as a process of its own; return its two outputs."""
    done = subprocess.run(  # noqa: S603 - this interpreter, on arguments of the test
        [sys.executable, "-m", "memoranda", *arguments],
        input=stdin,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout, done.stderr.decode()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_export_to_standard_output_holds_nothing_else(options, run, tmp_path):
    """A dash writes the very lines that a file would have; the report goes to standard error."""
    out, told = memoranda("export", "-", *options)
    run("export", "all.jsonl")
    lines = out.splitlines()
    assert lines[1:] == (tmp_path / "all.jsonl").read_bytes().splitlines()[1:]
    assert json.loads(lines[0])["format"] == "memoranda"
    assert "exported 3 records" in told
    assert not (tmp_path / "-").exists()


def test_an_import_reads_standard_input(tmp_path):
    """What one memory exports, another imports, without a file between."""
    out, _ = memoranda("export", "-")
    told = json.loads(memoranda("import", "-", "--db", "other.db", "--json", stdin=out)[0])
    assert (told["format"], told["records"]) == ("memoranda", 3)
    with Memory(tmp_path / "other.db") as memory:
        assert [record.content for record in memory.records()] == [each[0] for each in TASKS]
