"""MEMORY.md by its lines: which are bullets, what a person changed, and what memory writes."""

import difflib
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.checks import content_hash
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.notes import NotedLine
from memoranda.notes.document import is_written_as, parse
from memoranda.notes.projection import OMITTED, digest_of, project, read_edits

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BIG = 100_000
FILE = """\ufeff# Memory

Words of mine, with - no bullet
- right below a paragraph it is one

## People  ##
- Bob is
  her brother
* Eve, too
\t1) a numbered one
not part of it

````
```sh
- code
```
- code, too
````
<!-- one line -->
<!--
- commented out
-->
- - -
| - | table |
> - quoted
~~~ never closed
- [ ] to be done
-
"""
SAID = [
    (None, "right below a paragraph it is one"),
    ("People", "Bob is her brother"),
    ("People", "Eve, too"),
    ("People", "a numbered one"),
    ("People", "[ ] to be done"),
]


def fact(id, content, *, category=None, section=None, **more):
    """Return a fact as a store has it."""
    metadata = {"category": category, "section": section}
    made = {each: text for each, text in metadata.items() if text is not None}
    more.setdefault("created_at", NOW)
    return Record(id=id, kind=Kind.FACT, content=content, user="ana", event_time=NOW,
                  content_hash=content_hash(content), metadata=made, **more)  # fmt: skip


TEA = fact("f1", "Ana likes green tea", category="preference")
BOB = fact("f2", "Bob is her brother", category="relation")
RED = fact("f3", "Ana likes\nred wine", category="preference")
OWN = fact("f4", "The spare key is at Zoe's", section="Keys and codes")


def base_of(*records):
    """Return the lines of a file that has one for each record."""
    return [NotedLine(each.id, digest_of(each.content)) for each in records]


def reading(text, base, records, **how):
    """Return what a person changed in ``text`` since it had the lines of ``base``."""
    return read_edits(base, parse(text), {each.id: each for each in records}, **how)


def projected(text, records, size=BIG):
    """Return what a file with this text is to say."""
    lines = reading(text, base_of(*records), records).lines
    return project(parse(text), records, max_bytes=size, lines=lines)


def changed(before, after):
    """Return the lines that a diff has."""
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


# Lines


def test_bullets_are_found_and_nothing_else():
    """No code, comment, rule, table or quote; an indented line goes on; what never ends is none."""
    document = parse(FILE)
    assert [(each.section, each.text) for each in document.bullets] == SAID
    front = "\ufeff---\ntags:\n- a\n---\n- b\n"
    assert [each.text for each in parse(front).bullets] == ["b"]


@given(st.text("-*# \t\n\r`>|<!1.a\ufeff", max_size=60))
def test_any_text_comes_back(text):
    """Whatever is in the file is rendered to the byte, and patching nothing changes nothing."""
    document = parse(text)
    assert document.render() == document.patch({}).render() == text


@given(
    st.lists(st.text("-*# `>|<!1.ab\\", min_size=1, max_size=12), min_size=1, max_size=6),
    st.text("-# \n`<!->:ab", max_size=40),
)
def test_a_bullet_says_what_was_written(texts, file):
    """What can be read again as it is stands in any file as one bullet each."""
    wanted = [text for text in texts if is_written_as(text)]
    document = parse(file).add([(f"Facts {text[0]}", text) for text in wanted])
    found = [each.text for each in document.bullets]
    assert all(text in found for text in wanted)
    left = document.patch(dict.fromkeys(each for each in document.bullets if each.text in wanted))
    assert not {each.text for each in left.bullets} & set(wanted)


# What a person changed


def test_a_file_as_it_was_has_no_edits():
    """Moved lines, other markers, spaces and sections, prose around them: no edit.

    Nor are lines of records that are believed no more, or lines that a model left out.
    """
    text = f"# M\n\n## X\n* {OWN.content}\n\n## Y\n- {TEA.content}\n\n1. Bob  is her\n   brother\n"
    edits = reading(text, base_of(TEA, BOB, OWN), [TEA, BOB, OWN])
    assert not edits
    assert list(edits.lines) == ["f4", "f1", "f2"]
    edits = reading(f"- {TEA.content}\n- {BOB.content}\n", base_of(TEA, BOB), [])
    assert list(edits.ended.values()) == ["f1", "f2"]
    assert not edits
    base = [*base_of(BOB), NotedLine("f1", OMITTED)]
    edits = reading(f"- {BOB.content}\n- new\n", base, [TEA, BOB])
    assert (edits.removed, edits.changed) == ([], {})


def test_added_changed_and_removed():
    """By its place between the same neighbours a new line is another wording; others are new."""
    records = [TEA, BOB, RED, OWN]
    text = f"- {TEA.content}\n- Bob is her cousin\n- {OWN.content}\n\n## Mine\n- Buy milk\n"
    edits = reading(text, base_of(*records), records)
    assert {id_: item.text for id_, item in edits.changed.items()} == {"f2": "Bob is her cousin"}
    assert edits.removed == ["f3"]
    assert [(each.text, each.section) for each in edits.added] == [("Buy milk", "Mine")]


def test_many_lines_gone_at_once_are_restored():
    """Three or more, and more than half, unless it was meant; a blank file whatever was meant."""
    records = [fact(f"n{at}", f"number {at}") for at in range(5)]
    base = base_of(*records)
    for left in range(5):
        text = "".join(f"- number {at}\n" for at in range(left)) + "x\n"
        gone = [f"n{at}" for at in range(left, 5)]
        edits = reading(text, base, records)
        assert (edits.restored or edits.removed) == gone
        assert bool(edits.restored) is (left < 3)
        assert reading(text, base, records, accept_removals=True).removed == gone
    assert len(reading(" \n", base, records, accept_removals=True).restored) == 5
    assert not reading(" \n", [], records).restored


def test_the_base_of_an_older_version_is_understood():
    """A paragraph that was a fact is neither new nor gone, until the person takes it out."""
    records = [TEA, BOB, OWN]
    text = f"Ana likes\ngreen tea\n\n- {BOB.content}\n- {OWN.content}\n"
    edits = reading(text, base_of(*records), records)
    assert not edits
    made = projected(text, records)
    assert (made.text, {line.id for line in made.lines}) == (text, {"f1", "f2", "f4"})
    assert reading(text.partition("\n\n")[2], base_of(*records), records).removed == ["f1"]


# What memory writes


def test_a_new_file_is_rendered_by_topic():
    """Without a file, or with a blank one, every fact stands under its topic, oldest first."""
    text = (
        "# Memory\n\n## Preferences\n\n- Ana likes green tea\n- Ana likes red wine\n\n"
        "## People\n\n- Bob is her brother\n\n## Keys and codes\n\n- The spare key is at Zoe's\n"
    )
    for file in ("", " \n\r\n"):
        made = projected(file, [OWN, RED, BOB, TEA])
        assert made.text == text
        assert [line.id for line in made.lines] == ["f1", "f3", "f2", "f4"]
    assert projected("", []).text == ""


def test_a_new_fact_is_one_line():
    """Adding a fact adds one line to the file, and a heading only where there was none."""
    before = projected("", [TEA, BOB]).text
    after = projected(before, [TEA, BOB, RED]).text
    assert changed(before, after) == ["+ - Ana likes red wine\n"]
    last = projected(after, [TEA, BOB, RED, OWN]).text
    assert last == f"{after}\n## Keys and codes\n\n- The spare key is at Zoe's\n"


def test_the_layout_of_a_person_stays():
    """CRLF, markers, comments, prose and a missing final newline are left as they are."""
    text = (
        "\ufeff---\r\ntitle: x\r\n---\r\n\r\nWords.\r\n\r\n## people\r\n\r\n* Bob is her brother"
        "\r\n\r\n<!-- mine -->\r\n```\r\n- code\r\n```\r\n\r\n"
        "## Preferences\r\n- Ana likes green tea"
    )
    assert projected(text, [TEA, BOB]).text == text
    after = projected(text, [TEA, BOB, RED])
    assert after.text == f"{text}\r\n- Ana likes red wine\r\n"


def test_over_the_limit_the_least_goes_and_a_hand_written_line_never():
    """Words that a person wrote stay even over the limit; what is founded worst goes first."""
    hand = [fact(f"h{at}", f"words by hand {at}", origin="notes", confidence=0.1)
            for at in range(3)]  # fmt: skip
    learned = [
        fact("l0", "learned thing 0", decay_rate=0.1),
        fact("l1", "learned thing 1"),
        fact("l2", "learned thing 2", trust=Trust.AGENT),
    ]
    whole = projected("", [*learned, *hand])
    size = len(whole.text.encode())
    every = {line.id for line in whole.lines}
    for most, out in ((size - 1, {"l2"}), (size - 25, {"l0", "l2"})):
        less = projected(whole.text, [*learned, *hand], most)
        assert every - {line.id for line in less.lines} == out
        assert len(less.text.encode()) <= most
    none = projected(whole.text, [*learned, *hand], 50)
    assert [line.id for line in none.lines] == ["h0", "h1", "h2"]


def test_a_full_file_is_not_reshuffled():
    """A new fact that is not clearly better waits outside; one of a person comes in."""
    facts = [fact(f"l{at}", f"learned thing {at}", decay_rate=0.1, confidence=0.6)
             for at in range(10)]  # fmt: skip
    full = projected("", facts, 180)
    assert 0 < len(full.lines) < 10
    like = fact("n1", "learned thing x", decay_rate=0.1, confidence=0.7)
    assert projected(full.text, [like, *facts], 180).text == full.text
    asked = fact("n2", "asked to keep x")
    assert len(changed(full.text, projected(full.text, [asked, *facts], 180).text)) == 2


def test_a_long_fact_leaves_its_room_to_the_newer():
    """It alone has no line; and it gets none when the file is written again."""
    facts = [TEA, fact("f5", "meeting notes " * 700), fact("f6", "Ana is allergic to nuts")]
    full = projected("", facts, 8_000)
    assert [line.id for line in full.lines] == ["f1", "f6"]
    assert projected(full.text, facts, 8_000).text == full.text


@given(
    st.text("-# \nab", max_size=40),
    st.lists(st.text("abc -#", min_size=1, max_size=9), max_size=8, unique_by=digest_of),
    st.integers(0, 160),
)
def test_projecting_again_changes_nothing(text, contents, size):
    """Whatever a person wrote, and whatever its size: once it is written, it stays."""
    facts = [fact(f"f{at}", each) for at, each in enumerate(contents) if each.strip()]
    lines = reading(text, [], facts).lines
    once = project(parse(text), facts, max_bytes=size, lines=lines)
    edits = reading(once.text, once.lines, facts)
    again = project(parse(once.text), facts, max_bytes=size, lines=edits.lines)
    assert (again.text, again.lines) == (once.text, once.lines)
    assert (edits.changed, edits.removed) == ({}, [])
