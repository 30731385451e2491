"""The history: what is told comes back, whatever stands in it and whoever edited the file."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.model.notes import HistoryEntry
from memoranda.notes.notes import Notes, parse_history
from memoranda.testing.clocks import FrozenClock

AT = datetime(2026, 2, 27, 14, 30, tzinfo=UTC)
DAY = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d"
HEADING = "## 2026-02-27T14:30:00.000Z"


# What may be taken for a heading, or for the end of a line or an entry.
AWKWARD = [
    *(HEADING, f"\\{HEADING}", f"\\\\{HEADING}", f"{HEADING} \t", f"{HEADING} and more"),
    *("##  2026-02-27 14:30+01:00", "## 9999-99-99T99:99:99Z", "# Title", "## Section", "```"),
    *("\ufeff", "\\", "\n", "\n\n", "\r\n", "\r", "\x85", "\u2028", "\u2029", "\x0c", " ", "text"),
]
STORABLE = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=9)
TEXTS = st.lists(st.sampled_from(AWKWARD) | STORABLE, max_size=8).map("".join)


def escaped(text):
    """Return a text as the file has it: LF ends lines, and none is taken for a heading."""
    plain = re.sub(r"\r\n?", "\n", text)
    return re.sub(rf"(?m)^(\ufeff?##[ \t]+{DAY}\S*[ \t]*)$", r"\\\1", plain)


def test_the_form_in_the_file(tmp_path):
    """An entry is a heading with its moment in UTC, a blank line, its text and a blank line."""
    at = datetime(2026, 2, 27, 15, 30, tzinfo=timezone(timedelta(hours=1)))
    Notes(tmp_path).append_history("Ana asked.", at=at)
    assert (tmp_path / "HISTORY.md").read_text() == f"{HEADING}\n\nAna asked.\n\n"


def test_files_edited_by_hand():
    """Line ends, blank lines and moments may be as editors and people leave them."""
    for file, expected in (
        (f"\ufeff{HEADING}\n\na\n\n", ["a"]),
        (f"{HEADING}\r\n\r\na\r\nb\r\n\r\n{HEADING}\r\n\r\nc\r\n", ["a\nb", "c"]),
        (f"{HEADING}\r\n\r\na\r\n\r\n{HEADING}\n\nb\n\n", ["a", "b"]),
        (f"{HEADING}\na\n{HEADING}\nb", ["a", "b"]),
        (f"{HEADING}\n\ntor", ["tor"]),
        (f"{HEADING}", [""]),
        (f"intro\n{HEADING}\n\n{HEADING}\n\n\nb\n", ["", "\nb"]),
        ("## 2026-02-27 14:30Z\n\na", ["a"]),
        ("## 2026-02-27T16:30:00+02:00 \n\na", ["a"]),
        (f"{HEADING}\n\na\n## 2026-13-27T14:30:00.000Z\n", ["a\n## 2026-13-27T14:30:00.000Z"]),
        (f"{HEADING}\n\na\n## 2026-02-27\n", ["a\n## 2026-02-27"]),
        (f"{HEADING}\n\na\n## 0001-01-01T00:00+02:00\n", ["a\n## 0001-01-01T00:00+02:00"]),
        ("# Only a title\n", []),
    ):
        assert [(each.at, each.text) for each in parse_history(file)] == [(AT, x) for x in expected]


# Through Notes


@pytest.fixture
def clock():
    """A clock that stands at 14:30."""
    return FrozenClock(AT)


@pytest.fixture
def notes(tmp_path, clock):
    """Notes in a folder that does not exist yet."""
    return Notes(tmp_path / "notes", clock=clock)


def texts_of(entries):
    """Return what entries say."""
    return [entry.text for entry in entries]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4, unique=True),
    TEXTS.filter(lambda text: not parse_history(text)),
)
def test_appended_texts_come_back(tmp_path_factory, entries, by_hand):
    """Any texts that are appended are read back in order, after any text by hand, too."""
    notes = Notes(tmp_path_factory.mktemp("n"), clock=FrozenClock(AT))
    (notes.folder / "HISTORY.md").write_bytes(by_hand.encode())
    told = [notes.append_history_rotated(text) for text in entries]
    assert told == [HistoryEntry(AT, escaped(text)) for text in entries]
    assert notes.history()[::-1] == told
    monthly = (notes.folder / "HISTORY-2026-02.md").read_bytes().decode()
    assert texts_of(parse_history(monthly)) == texts_of(told)


def test_an_entry_goes_to_the_file_of_its_month(notes):
    """The month is that of the heading, in UTC, whatever the zone of the moment."""
    at = datetime(2026, 2, 1, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    notes.append_history_rotated("old", at=at)
    notes.append_history("main only")
    main = (notes.folder / "HISTORY.md").read_text("utf-8")
    monthly = (notes.folder / "HISTORY-2026-01.md").read_text("utf-8")
    assert monthly == "## 2026-01-31T23:30:00.000Z\n\nold\n\n"
    assert main == f"{monthly}{HEADING}\n\nmain only\n\n"
    assert notes._files.names("HISTORY-*.md") == ["HISTORY-2026-01.md"]


def test_newest_first_and_once(notes, clock):
    """Entries come by their moment, later-added ones first, and once each."""
    notes.append_history_rotated("b", at=AT)
    notes.append_history_rotated("a", at=AT - timedelta(days=40))
    notes.append_history_rotated("c", at=AT)
    clock.advance(timedelta(days=40))
    notes.append_history("d")
    assert texts_of(notes.history()) == ["d", "c", "b", "a"]
    assert {entry.file for entry in notes.history()} == {"HISTORY.md"}
    assert texts_of(notes.history(limit=2)) == ["d", "c"]
    assert texts_of(notes.history(since=AT)) == ["d", "c", "b"]
    (notes.folder / "HISTORY.md").unlink()
    assert [entry.file for entry in notes.history()] == ["HISTORY-2026-02.md"] * 2 + [
        "HISTORY-2026-01.md"
    ]


def test_a_keyword_is_found(notes):
    """Case, width and composition of characters do not matter; a keyword is no pattern.

    A part of the moment finds entries; letters in it do not, or z would find them all.
    """
    for keyword, text in (
        ("LISBON", "Trip to Lisbon"),
        ("isb", "Trip to Lisbon"),
        ("strasse", "In der Hauptstraße"),
        ("cafe\u0301", "The café"),
        ("café", "The cafe\u0301"),
        ("\uff21\uff22\uff23", "abc"),
        ("istanbul", "İSTANBUL"),
        ("東京", "来月は東京に行く"),
        (".*", "a .* b"),
    ):
        notes.append_history_rotated(text)
        assert text in texts_of(notes.search(keyword))
        assert "something else" not in texts_of(notes.search(keyword))
    notes.append_history_rotated("y", at=AT - timedelta(days=1))
    assert texts_of(notes.search("02-26T14:30")) == texts_of(notes.search("2026-02-26")) == ["y"]
    assert len(notes.search("2026-02", limit=1)) == 1
    assert notes.search("z") == []


def test_a_rewrite_goes_through_all_files(notes):
    """Lines of all files but MEMORY.md change; those in the file of a month count once."""
    notes.write_memory("tea")
    notes.append_history_rotated("Ana likes tea")
    notes.append_history("Ana left")
    (notes.folder / "MEMORY-1.md").write_text("- tea\n")
    untouched = notes._files.stamp("MEMORY.md")

    def change(lines):
        return [line.replace("tea", "rain") for line in lines], sum("tea" in x for x in lines)

    assert notes.rewrite(change) == 2
    assert texts_of(notes.history()) == ["Ana left", "Ana likes rain"]
    assert notes._files.stamp("MEMORY.md") == untouched
    assert notes.rewrite(change) == 0


NAIVE = datetime(2026, 2, 27)  # noqa: DTZ001 - what is refused


def test_arguments_that_cannot_be_used(notes):
    """A wrong argument is named, and nothing is written."""
    for call, says in (
        (lambda: notes.append_history(" \n"), "entry is empty"),
        (lambda: notes.append_history("a\x00"), "NUL"),
        (lambda: notes.append_history_rotated("a\ud800"), "lone surrogate"),
        (lambda: notes.append_history(b"a"), "must be text"),
        (lambda: notes.append_history("a", at=NAIVE), "no time zone"),
        (lambda: notes.append_history_rotated("a", at="today"), "with a time zone"),
        (lambda: notes.search("  "), "keyword is empty"),
        (lambda: notes.search("a", limit=0), "must be a whole number"),
        (lambda: notes.history(limit=True), "must be a whole number"),
        (lambda: notes.history(since=NAIVE), "no time zone"),
    ):
        with pytest.raises(InvalidInput, match=says):
            call()
    assert not notes.folder.exists()
