"""MEMORY.md by its lines: which are bullets, what a person changed, and what memory writes."""

import difflib
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.checks import content_hash
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.notes import NotedLine
from memoranda.notes.document import is_written_as, parse
from memoranda.notes.edits import OMITTED, WAITING, digest_of, read_edits
from memoranda.notes.projection import project

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

```
- code
```
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
- \\# no heading
"""
SAID = [
    (None, "right below a paragraph it is one"),
    ("People", "Bob is her brother"),
    ("People", "Eve, too"),
    ("People", "a numbered one"),
    ("People", "[ ] to be done"),
    ("People", "# no heading"),
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


def reading(text, base, records):
    """Return what a person changed in ``text`` since it had the lines of ``base``."""
    known = {each.id: each for each in records}
    active = [each.id for each in records if each.valid_until is None]
    return read_edits(base, parse(text), known, active)


def changed(before, after):
    """Return the lines that a diff has."""
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


# Lines


def test_bullets_are_found_and_nothing_else():
    """No code, comment, rule, table or quote; an indented line goes on; what never ends is none."""
    document = parse(FILE)
    assert [(each.section, each.text) for each in document.bullets] == SAID
    front = "---\ntags:\n- a\n---\n- b\n"
    assert [each.text for each in parse(front).bullets] == ["b"]
    assert [each.text for each in parse("    - code\n").bullets] == []


@given(st.text("-*# \t\n\r`>|<!1.a\ufeff", max_size=60))
def test_any_text_comes_back(text):
    """Whatever is in the file is rendered to the byte, and patching nothing changes nothing."""
    document = parse(text)
    assert document.render() == text
    assert document.patch({}).render() == text


@given(st.lists(st.text("-*# `>|<!1.ab\\", min_size=1, max_size=12), min_size=1, max_size=6))
def test_a_bullet_says_what_was_written(texts):
    """What can be read again as it is stands in the file as one bullet each."""
    wanted = [text for text in texts if is_written_as(text)]
    document = parse("").add([("Facts", text) for text in wanted])
    assert [each.text for each in document.bullets] == wanted
    kept = dict.fromkeys(document.bullets[1:])
    assert [each.text for each in document.patch(kept).bullets] == wanted[:1]


# What a person changed


def test_a_file_as_it_was_has_no_edits():
    """Moved lines, other markers, spaces and sections, prose around them: no edit."""
    text = f"# M\n\n## X\n* {OWN.content}\n\n## Y\n- {TEA.content}\n\n1. Bob  is her\n   brother\n"
    edits = reading(text, base_of(TEA, BOB, OWN), [TEA, BOB, OWN])
    assert not edits
    assert [line.id for line in edits.lines] == ["f4", "f1", "f2"]


def test_added_changed_and_removed():
    """By its place between the same neighbours a new line is another wording; others are new."""
    records = [TEA, BOB, RED, OWN]
    text = f"- {TEA.content}\n- Bob is her cousin\n- {OWN.content}\n\n## Mine\n- Buy milk\n"
    edits = reading(text, base_of(*records), records)
    assert [(line.id, line.item.text) for line in edits.changed] == [("f2", "Bob is her cousin")]
    assert edits.removed == ("f3",)
    assert [(each.text, each.section) for each in edits.added] == [("Buy milk", "Mine")]
    assert not edits.mass_removal


def test_what_ended_or_was_erased_is_no_edit():
    """A line of a record that ended is stale; of one that is gone for good, never news."""
    ended = replace(TEA, valid_until=NOW)
    edits = reading(f"- {TEA.content}\n- {BOB.content}\n", base_of(TEA, BOB), [ended])
    assert [line.id for line in edits.stale] == ["f1"]
    assert [line.id for line in edits.erased] == ["f2"]
    assert not edits


def test_many_lines_gone_at_once_are_asked_about():
    """Three or more, and more than half; not one or two of a few. A blank file is restored."""
    records = [fact(f"n{at}", f"number {at}") for at in range(5)]
    base = base_of(*records)
    gone = {left: reading("".join(f"- number {at}\n" for at in range(left)) + "x\n", base, records)
            for left in range(5)}  # fmt: skip
    assert {left: edits.mass_removal for left, edits in gone.items()} == {
        0: True, 1: True, 2: True, 3: False, 4: False,
    }  # fmt: skip
    assert reading(" \n", base, records).restored
    assert not reading(" \n", [], records).restored


def test_the_base_of_an_older_version_is_understood():
    """A paragraph that was a fact is neither new nor gone, until the person takes it out."""
    base = base_of(TEA, BOB, OWN)
    text = f"Ana likes\ngreen tea\n\n- {BOB.content}\n- {OWN.content}\n"
    edits = reading(text, base, [TEA, BOB, OWN])
    assert not edits
    assert [line.id for line in edits.prose] == ["f1"]
    made = project(parse(text), [TEA, BOB, OWN], max_bytes=BIG, edits=edits)
    assert (made.text, {line.id for line in made.lines}) == (text, {"f1", "f2", "f4"})
    assert reading(text.partition("\n\n")[2], base, [TEA, BOB, OWN]).removed == ("f1",)


def test_what_waits_or_was_left_out_has_no_line():
    """Held back lines are still gone; those that a model left out are no edit."""
    base = [*base_of(BOB), NotedLine("f1", OMITTED), NotedLine("f4", WAITING)]
    edits = reading(f"- {BOB.content}\n- new\n", base, [TEA, BOB, OWN])
    assert edits.removed == ("f4",)
    assert edits.changed == ()


# What memory writes


def test_a_new_file_is_rendered_by_topic():
    """Without a file, or with a blank one, every fact stands under its topic, oldest first."""
    text = (
        "# Memory\n\n## Preferences\n\n- Ana likes green tea\n- Ana likes red wine\n\n"
        "## People\n\n- Bob is her brother\n\n## Keys and codes\n\n- The spare key is at Zoe's\n"
    )
    for document in (parse(""), parse(" \n\r\n")):
        made = project(document, [OWN, RED, BOB, TEA], max_bytes=BIG)
        assert made.text == text
        assert [line.id for line in made.lines] == ["f1", "f3", "f2", "f4"]
    assert project(parse(""), [], max_bytes=BIG).text == ""


def test_a_new_fact_is_one_line():
    """Adding a fact adds one line to the file, and a heading only where there was none."""
    before = project(parse(""), [TEA, BOB], max_bytes=BIG).text
    after = project(parse(before), [TEA, BOB, RED], max_bytes=BIG).text
    assert changed(before, after) == ["+ - Ana likes red wine\n"]
    last = project(parse(after), [TEA, BOB, RED, OWN], max_bytes=BIG).text
    assert last == f"{after}\n## Keys and codes\n\n- The spare key is at Zoe's\n"


def test_a_corrected_fact_is_replaced_in_its_place():
    """The line of what took its place stands where the old line stood, also down a chain."""
    made = project(parse(""), [TEA, RED, BOB], max_bytes=BIG)
    new = fact("f9", "Ana likes black tea", section="Elsewhere")
    middle = replace(RED, id="f8", valid_until=NOW, superseded_by="f9")
    old = replace(TEA, valid_until=NOW, superseded_by="f8")
    known = {"f1": old, "f8": middle, "f3": RED, "f2": BOB, "f9": new}
    edits = reading(made.text, made.lines, known.values())
    after = project(parse(made.text), [new, RED, BOB], max_bytes=BIG, known=known, edits=edits)
    assert after.text == made.text.replace("green", "black")
    assert after.changes == ('"Ana likes green tea": replaced by "Ana likes black tea"',)


def test_an_ended_fact_goes_and_an_erased_one_goes_unnamed():
    """Lines of ended and erased facts are taken out; an erased text is not told of."""
    made = project(parse(""), [TEA, RED, BOB], max_bytes=BIG)
    known = {"f1": replace(TEA, valid_until=NOW), "f3": RED}
    edits = reading(made.text, made.lines, known.values())
    after = project(parse(made.text), [RED], max_bytes=BIG, known=known, edits=edits)
    assert after.text == "# Memory\n\n## Preferences\n\n- Ana likes red wine\n"
    assert "Bob" not in " ".join(after.changes)
    assert len(after.changes) == 2


def test_the_layout_of_a_person_stays():
    """CRLF, markers, comments, prose and a missing final newline are left as they are."""
    text = (
        "\ufeff---\r\ntitle: x\r\n---\r\n\r\nWords.\r\n\r\n## people\r\n\r\n* Bob is her brother"
        "\r\n\r\n<!-- mine -->\r\n```\r\n- code\r\n```\r\n\r\n"
        "## Preferences\r\n- Ana likes green tea"
    )
    made = project(parse(text), [TEA, BOB], max_bytes=BIG)
    assert made.text == text
    sister = fact("f7", "Eve is her sister", category="relation")
    after = project(parse(text), [TEA, BOB, sister], max_bytes=BIG)
    assert changed(text, after.text) == ["+ * Eve is her sister\r\n"]


def test_over_the_limit_the_least_goes_and_a_hand_written_line_never():
    """What finds no room is named; words that a person wrote stay even over the limit."""
    hand = [fact(f"h{at}", f"words by hand {at}", origin="notes", confidence=0.1)
            for at in range(3)]  # fmt: skip
    learned = [
        fact("l0", "learned thing 0", decay_rate=0.1),
        fact("l1", "learned thing 1"),
        fact("l2", "learned thing 2", trust=Trust.AGENT),
    ]
    whole = project(parse(""), [*learned, *hand], max_bytes=BIG)
    size = len(whole.text.encode())
    edits = reading(whole.text, whole.lines, learned + hand)
    less = project(parse(whole.text), [*learned, *hand], max_bytes=size - 1, edits=edits)
    assert (less.dropped, less.over, len(less.changes)) == (("l2",), 0, 1)
    least = project(parse(whole.text), [*learned, *hand], max_bytes=size - 25, edits=edits)
    assert least.dropped == ("l0", "l2")
    none = project(parse(whole.text), [*learned, *hand], max_bytes=50)
    assert [line.id for line in none.lines] == ["h0", "h1", "h2"]
    assert none.over == len(none.text.encode()) - 50


def test_a_full_file_is_not_reshuffled():
    """A new fact that is not clearly better waits outside; one of a person comes in."""
    facts = [fact(f"l{at}", f"learned thing {at}", decay_rate=0.1, confidence=0.6)
             for at in range(10)]  # fmt: skip
    full = project(parse(""), facts, max_bytes=180)
    assert 0 < len(full.lines) < 10
    like = fact("n1", "learned thing x", decay_rate=0.1, confidence=0.7)
    assert project(parse(full.text), [like, *facts], max_bytes=180).text == full.text
    asked = fact("n2", "asked to keep x")
    better = project(parse(full.text), [asked, *facts], max_bytes=180)
    assert len(changed(full.text, better.text)) == 2


@given(
    st.text("-# \nab", max_size=40),
    st.lists(st.text("abc -#", min_size=1, max_size=9), max_size=8, unique_by=digest_of),
    st.integers(0, 160),
)
def test_projecting_again_changes_nothing(text, contents, size):
    """Whatever a person wrote, and whatever its size: once it is written, it stays."""
    document = parse(text)
    facts = [fact(f"f{at}", each) for at, each in enumerate(contents) if each.strip()]
    once = project(document, facts, max_bytes=size)
    edits = reading(once.text, once.lines, facts)
    again = project(parse(once.text), facts, max_bytes=size, edits=edits)
    assert (again.text, again.lines, edits.changed, edits.removed) == (
        once.text, once.lines, (), (),
    )  # fmt: skip
