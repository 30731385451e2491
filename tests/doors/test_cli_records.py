"""The commands on records, and those that move and check a whole memory, on real files."""

import json
import stat
from pathlib import Path

import pytest
from postgres_server import new_database
from tables import each_row

from memoranda import Memory

TASKS = (
    ("ship the atlas", "2025-03-01", {"project": "atlas", "priority": 3}, ["work"]),
    ("print the atlas", "2025-03-02", {"project": "atlas", "priority": 1}, ["work", "paper"]),
    ("ship to borneo", "2025-03-03", {"project": "borneo", "priority": 2, "open": True}, ["sea"]),
)


@pytest.fixture
def tasks(told):
    """Remember three records with metadata and tags; return what they say."""
    for content, day, metadata, tags in TASKS:
        pairs = [f"--metadata={key}={json.dumps(value)}" for key, value in metadata.items()]
        marks = [f"--tag={tag}" for tag in tags]
        record = told("remember", content, "--event-time", day, "--session", day, *pairs, *marks)
        assert (record["metadata"], record["tags"]) == (metadata, tags)
    return [content for content, *_ in TASKS]


def test_shared_options_stand_on_either_side(told, tmp_path):
    """--db, --user and --json mean the same before and after the command."""
    other = str(tmp_path / "other.db")
    told("remember", "one", "--db", other, "--user", "ana")
    found = told("--db", other, "--user", "ana", "list")
    assert [record["content"] for record in found] == ["one"]
    assert told("--user", "bruno", "list", "--db", other, "--user", "ana") == found


def test_a_correction_replaces_and_the_past_is_kept(run, told):
    """The old text is in history and in --as-of; one with an end is believed until then."""
    ending = told("remember", "Ben is away", "--until", "2099-03-31T12:00Z")
    assert ending["valid_until"].startswith("2099-03-31T")
    assert "is over" in run("remember", "Ben was away", "--until", "2020-03-31").stderr
    old = told("remember", "Ana lives in Porto")
    new = told("correct", old["id"], "Ana lives in Lisbon")
    assert [hit["id"] for hit in told("search", "Ana lives")] == [new["id"]]
    (before,) = told("search", "Ana lives", "--as-of", old["created_at"])
    assert before["content"] == "Ana lives in Porto"
    assert [change["reason"] for change in told("history", old["id"])] == [
        "remembered", "corrected", f"corrects {old['id']}",
    ]  # fmt: skip
    assert "corrected" in run("history", old["id"]).stdout
    assert new["id"] in run("show", old["id"]).stdout


@each_row(
    ("filters", "places"),
    [
        ((), [0, 1, 2]),
        (("--metadata", "project=atlas"), [0, 1]),
        (("--metadata", '{"project": {"ne": "atlas"}}'), [2]),
        (("--metadata", "project=atlas", "--metadata", '{"priority": {"lte": 1}}'), [1]),
        (("--metadata", '{"project": {"in": ["borneo", "celebes"]}}'), [2]),
        (("--metadata", "open=true"), [2]),
        (("--metadata", 'open="true"'), []),
        (("--tag", "work", "--tag", "paper"), [1]),
        (("--since", "2025-03-02", "--until", "2025-03-03"), [1]),
        (("--session", "2025-03-03"), [2]),
        (("--kind", "fact", "--tag", "sea"), [2]),
        (("--kind", "episode"), []),
    ],
)
def test_search_and_list_take_the_same_filters(told, tasks, filters, places):
    """By metadata, tags, time, session and kind; several have all to be met."""
    wanted = [tasks[place] for place in places]
    assert [record["content"] for record in told("list", *filters)] == wanted
    found = told("search", "ship print atlas borneo", *filters)
    assert sorted(hit["content"] for hit in found) == sorted(wanted)


def test_a_search_shows_what_is_relevant_and_says_what_it_lacks(run, told, monkeypatch):
    """All that was found with --min-score 0; that no model is installed; what a mask hides."""
    best, other = "The ferry to Porto leaves at nine", "Porto has a tram and a bridge"
    for text in (best, other, "The wifi password is sunflower"):
        run("remember", text)
    asked = ("search", "when does the ferry to Porto leave?")
    assert [hit["content"] for hit in told(*asked)] == [best]
    assert [hit["content"] for hit in told(*asked, "--min-score", "0")] == [best, other]
    assert run(*asked).stderr == ""
    assert "memoranda show ID" in run("search", "wifi").stderr
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "auto")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__FOLDER", "nowhere")
    assert "not meaning: the model" in run(*asked).stderr


def test_a_record_is_named_by_the_beginning_of_its_id_or_as_the_last(run, told):
    """One that several ids begin with is refused, and they are named; too short a one is no id."""
    green, black = (told("remember", f"Ana likes {kind} tea") for kind in ("green", "black"))
    assert told("show", green["id"][:-2])["id"] == green["id"]
    refused = run("forget", green["id"][:8], code=1).stderr
    assert green["id"] in refused
    assert "there is no record 'fact_'" in run("show", "fact_", code=1).stderr
    with Memory() as memory:
        memory.remember("A quiet week.", kind="reflection")
    hint = f"to remove its text, too: memoranda forget {black['id']} --erase"
    assert hint in run("forget", "last").stderr
    assert [each["id"] for each in told("list", "--kind", "fact")] == [green["id"]]


def test_pages_join(told, tasks):
    """Pages of a list, either way, hold each record once."""
    for order, wanted in (((), tasks), (("--newest-first",), tasks[::-1])):
        pages = [told("list", *order, "--limit", "2", "--offset", str(n))[:2] for n in (0, 2)]
        assert [record["content"] for page in pages for record in page] == wanted


def test_what_is_recalled_is_a_fenced_block(run, told):
    """Recall prints the block alone on stdout, and its size on stderr."""
    run("remember", "Ana plays the oboe")
    result = run("recall", "what does Ana play?", "--budget", "300")
    assert result.stdout.startswith("<memoranda-memory")
    assert "tokens" in result.stderr
    assert told("recall", "what does Ana play?")["text"] + "\n" == result.stdout


def test_an_import_tells_of_each_file_of_a_folder(run, tmp_path):
    """What came in of each, how much in all, and what was not read; strictly, all or nothing."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "mem0.json").write_text('[{"id": "a", "memory": "Likes tea"}]')
    (folder / "talk.jsonl").write_text('{"messages": [{"role": "user", "content": "Hi"}]}\n{\n')
    (folder / "odd.json").write_text('{"colour": "red"}')
    assert "talk.jsonl, line 2" in run("import", str(folder), "--strict", code=1).stderr
    assert "tea" not in run("list").stdout
    result = run("import", str(folder))
    assert sorted(result.stdout.splitlines()) == [
        f"{folder}/mem0.json: 1 record (mem0)",
        f"{folder}/talk.jsonl: 1 message, 1 conversation (openai)",
        "imported 1 record, 1 message, 1 conversation, for default (mem0, openai)",
    ]
    for told in ("odd.json, line 1: the format is unknown", "talk.jsonl, line 2: not valid JSON"):
        assert f"left out: {folder}/{told}" in result.stderr
    again = run("import", str(folder)).stdout
    assert "imported nothing; 2 were there already" in again


def test_a_dash_is_standard_input_and_output(run, told, tasks, tmp_path):
    """Text is read whole; an export is the very lines of a file, its report stands beside it."""
    run("export", "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_bytes().splitlines()
    for options in ((), ("--json",)):
        out = run("export", "-", *options)
        assert json.loads(out.stdout_bytes.splitlines()[0])["format"] == "memoranda"
        assert out.stdout_bytes.splitlines()[1:] == lines[1:]
        assert "exported 3 records" in out.stderr
    assert not (tmp_path / "-").exists()
    exported = (tmp_path / "all.jsonl").read_bytes()
    for added in (3, 0):
        report = json.loads(run("import", "-", "--db", "other.db", "--json", stdin=exported).stdout)
        assert report["records"] == added
    wrong = run("import", "-", "--db", "other.db", stdin=b"\xff", code=1).stderr
    assert "UTF-8" in wrong
    assert " stdin-" in wrong
    run("remember", "-", "--db", "other.db", stdin="two\nlines\n")
    found = [record["content"] for record in told("list", "--db", "other.db")]
    assert found == [*tasks, "two\nlines"]


def test_a_backup_tells_of_the_notes_beside_it(run, tmp_path):
    """Notes are files of their own: where there are any, they are named."""
    run("remember", "carry me over")
    assert "notes" not in run("backup", "first.db").stderr
    run("notes", "sync")
    notes = next(tmp_path.glob("*.notes"))
    assert f"copy {notes}, too" in run("backup", "second.db").stderr


def test_an_import_embeds_all_it_brought(run, told, monkeypatch):
    """With a model, every record of an import has its vector when the command ends."""
    pytest.importorskip("onnxruntime")
    with Memory() as memory:
        memory.remember_many(f"note {number}" for number in range(8))
    run("export", "out.jsonl")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "auto")
    run("import", "out.jsonl", "--db", "there.db")
    if told("stats", "--db", "there.db")["vectors"].startswith("off"):
        pytest.skip("the files of the local model are not here")
    assert told("stats", "--db", "there.db")["pending_vectors"] == 0


def test_a_text_may_be_several_words(run, told):
    """Without quotes, in whatever asks for a text."""
    run("remember", "Ana", "likes", "green", "tea", "--tag", "drink")
    (found,) = told("search", "what", "does", "Ana", "drink", "--tag", "drink")
    assert found["content"] == "Ana likes green tea"
    run("correct", found["id"], "Ana", "likes", "coffee")
    assert "Ana likes coffee" in run("facts", "what", "does", "Ana", "drink").stdout
    assert "Ana likes coffee" in run("recall", "Ana", "drink").stdout


def test_users_are_copied_between_places_of_any_kind(run, told, postgres):
    """It says how much it was, a second time nothing; a database is a place as a file is."""
    for user in ("ana", "ben"):
        with Memory("agent.db", user=user) as memory:
            memory.remember(f"{user} likes tea")
            memory.conversation("trip").add("user", "Hello.")
    address = new_database(postgres)
    for place in ("b.db", address):
        first = run("copy", "agent.db", place).stdout
        assert "copied 4 records, 2 messages" in first
        assert "ben likes tea" in run("list", "--db", place, "--user", "ben").stdout
        assert "copied nothing; 6 were there already" in run("copy", "agent.db", place).stdout
    assert "copied nothing" in run("copy", address, f"{address}&sslmode=prefer").stdout
    assert stat.S_IMODE(Path("b.db").stat().st_mode) == 0o600
    report = told("copy", "b.db", "c.db", "--user", "ben")
    assert [(each["users"], each["messages"]) for each in report["users"]] == [(["ben"], 1)]


@pytest.fixture
def checks(told):
    """Return what the doctor finds, by the names of its checks."""
    return lambda: {check["name"]: check for check in told("doctor")}


def test_the_doctor_is_well_after_each_remedy_and_fails_with_a_fault(run, checks, monkeypatch):
    """Exit code 0 for a sound memory; 1 for a model that cannot be had though it is asked for."""
    run("remember", "something")
    found = {name: check["ok"] for name, check in checks().items()}
    assert found.items() >= {"contents": True, "lexical arm": True, "vector arm": None}.items()
    assert "rebuilt" in run("doctor", "--rebuild", "--purge", "--reembed").stderr
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "local")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__FOLDER", "no-models")
    run("doctor", code=1)
