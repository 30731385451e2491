"""MEMORY.md as a text: what is a statement in it, and that a patch leaves the rest alone."""

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.notes.document import guarded, parse
from memoranda.notes.scrub import scrub
from memoranda.notes.topics import own_titles

FRAGMENTS = [
    "- a fact", "* starred", "+ plus", "1. first", "1986. a year", "  - nested", "    - deep",
    "  goes on", "      code", "plain words", "more words", "", "", "# Title", "## People",
    "## Mine ##", "### Deeper", "===", "---", "```py", "```", "~~~", "<!-- note -->", "<!-- open",
    "end -->", "> quoted", "| a | b |", "|---|---|", "[ref]: http://x", "![image](x.png)",
    "<details>", "- ", "-", "- # title", "- ```", "- <!-- c -->", "\tcode", "  ```", "a: b",
    "- [x] done", "\ufeff", "\u2028", "  <!-- in -->", "10. ten", "    under ten",
]  # fmt: skip
markdown = st.builds(
    lambda lines, ends: "".join(
        line + end for line, end in zip(lines, ends, strict=False)
    ),
    st.lists(st.sampled_from(FRAGMENTS), max_size=14),
    st.lists(st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"]), min_size=14, max_size=14),
)  # fmt: skip
words = st.text(min_size=1, max_size=30).filter(lambda text: text.split() and "\ud800" not in text)


def texts(text):
    """Return what a text states."""
    return [item.text for item in parse(text).items]


def changed(before, after):
    """Return the lines that a diff has."""
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


@given(st.text() | markdown | st.text(alphabet="-#`~<>!|\r\n\u2028\ufeff \tab", max_size=60))
def test_a_document_renders_to_the_bytes_it_was_parsed_from(text):
    """``parse(text).render()`` is ``text``, whatever the text is."""
    document = parse(text)
    assert document.render() == text
    assert len(document.kinds) == len(document.lines)
    for item in document.items:
        assert item.text.strip()
        assert 0 <= item.start < item.stop <= len(document.lines)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("- a\n* b\n+ c\n1. d\n2) e\n", ["a", "b", "c", "d", "e"]),
        ("- a\n  - b\n    - c\n", ["a", "b", "c"]),
        ("- a\n  goes\n  on\n- b\n", ["a goes on", "b"]),
        ("- a\n\n  a second\n  one\n", ["a", "a second one"]),
        ("- a\nprose\n", ["a", "prose"]),
        ("one\ntwo\n\nthree\n", ["one two", "three"]),
        ("The year was\n1986. What a year.\n", ["The year was 1986. What a year."]),
        ("# T\n\n## S ##\n\nTitle\n=====\n\nOther\n---\n", []),
        ("- \n-\n", []),
        ("```\n- a\n```\n~~~\n- b\n\n- c\n~~~\n", []),
        ("- a\n  ```\n  - code\n  ```\n- b\n", ["a", "b"]),
        ("text\n\n    - code\n", ["text"]),
        ("<!-- a\n- b\n-->\n- c\n", ["c"]),
        ("- <!-- a -->\n- c\n", ["c"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n- c\n", ["c"]),
        ("> - a\n> b\n", []),
        ("---\ntitle: x\nlist:\n- a\n---\n- b\n", ["b"]),
        ("---\n- a\n---\n- b\n", ["a", "b"]),
        ("* * *\n- - -\n***\n", []),
        ("[a]: http://x\n\n![i](x)\n\n[![i](x)](y) ![j](z)\n\n<br>\n", []),
        ("```\n- a\n- b\n", ["a", "b"]),
        ("<!-- never closed\n- a\n", ["a"]),
        ("- a\r\n- b\r\n", ["a", "b"]),
        ("- a\u2028b\n", ["a b"]),
        ("\ufeff- a\n", ["a"]),
        ("- \\# a\n- \\alpha\n- \\\\server\n", ["# a", "\\alpha", "\\\\server"]),
        ("- [ ] call\n", ["[ ] call"]),
        ("- 喝茶\n", ["喝茶"]),
    ],
)  # fmt: skip
def test_what_a_file_states(text, stated):
    """List items and paragraphs are statements; the frame around them is none."""
    assert texts(text) == stated


def test_a_statement_knows_its_section():
    """The section is the nearest heading below level 1; a title ends it."""
    text = "- a\n# T\n- b\n## S\n- c\n### D\n- d\n# U\n- e\n"
    assert [(each.text, each.section) for each in parse(text).items] == [
        ("a", None), ("b", None), ("c", "S"), ("d", "D"), ("e", None)
    ]  # fmt: skip


def test_what_hangs_on_a_removed_item_is_not_hidden():
    """Where it cannot move out without being joined to what follows, the marker stays."""
    document = parse("10. ten\n\n      code\nend -->\n")
    left = document.remove([document.items[0]])
    assert [each.text for each in left.items] == ["code", "end -->"]
    assert left.render() == "10. <!-- -->\n\n      code\nend -->\n"


@given(words)
def test_any_line_is_read_as_it_was_written(text):
    """What is written as a line of a new file is read back as the same words."""
    line = " ".join(text.split())
    assert texts(parse("").add([("Facts", line)]).render()) == [line]
    assert texts(f"- {guarded(line)}\n- other\n") == [line, "other"]


@given(markdown, st.data())
def test_removing_leaves_every_other_statement(text, data):
    """Removing items leaves the others, in their order; nothing is joined or hidden by it."""
    document = parse(text)
    gone = [each for each in document.items if data.draw(st.booleans())]
    left = [each.text for each in document.items if each not in gone]
    assert [each.text for each in document.remove(gone, titles=own_titles()).items] == left


@given(markdown)
def test_adding_leaves_every_other_statement(text):
    """Adding lines to any file hides none of it, and the lines are read back."""
    document = parse(text)
    added = document.add([("People", "new one"), ("Other", "new two")])
    before, after = [each.text for each in document.items], [each.text for each in added.items]
    assert sorted(after) == sorted([*before, "new one", "new two"])
    kept = [line.strip() for line in document.lines if line.strip()]
    now = [line.strip() for line in added.lines if line.strip()]
    assert all(now.count(line) >= kept.count(line) for line in kept)


@given(markdown, st.sampled_from(["new words", "# not a title", "2020. was a year", "- dash"]))
def test_replacing_changes_one_statement(text, new):
    """Replacing the words of an item leaves all others."""
    document = parse(text)
    if document.items:
        item = document.items[len(document.items) // 2]
        wanted = [new if each == item else each.text for each in document.items]
        assert [each.text for each in document.replace({item: new}).items] == wanted


def test_a_patch_is_one_line():
    """Added, replaced, removed: each is one line of a diff, and CRLF and prose stay."""
    text = "# Memory\r\n\r\nBy hand.\r\n\r\n## People\r\n\r\n* a\r\n* b\r\n\r\n## Facts\r\n\r\n- c"
    document = parse(text)
    added = document.add([("people", "new")]).render()
    assert changed(text, added) == ["+ * new\r\n"]
    item = document.items[1]
    assert changed(text, document.replace({item: "x"}).render()) == ["- * a\r\n", "+ * x\r\n"]
    assert changed(text, document.remove([item]).render()) == ["- * a\r\n"]
    assert (
        document.remove([document.items[3]], titles=own_titles()).render()
        == text[: text.index("\r\n## F")]
    )


def test_removing_goes_with_memorys_own_heading_only():
    """A heading of a person stays when its last line goes; one of memory's goes with it."""
    text = "## Mine\n\n- a\n\n## People\n\n- b\n\n## Facts\n\n- c\n"
    document = parse(text)
    left = document.remove(document.items[:2], titles=own_titles()).render()
    assert left == "## Mine\n\n## Facts\n\n- c\n"
    assert parse(left).add([("Mine", "d")]).render() == "## Mine\n\n- d\n\n## Facts\n\n- c\n"


def test_what_stood_apart_stays_apart():
    """Where a line between two paragraphs goes, a blank one keeps them two."""
    document = parse("one\n- a\ntwo\n\n- b\n\n- c\n")
    left = document.remove([document.items[1], document.items[3]])
    assert left.render() == "one\n\ntwo\n\n- c\n"


def test_what_is_nested_moves_out():
    """What stood under a removed item is not hung on the item before it, and not code."""
    document = parse("- a\n- b\n    - c\n      goes on\n- d\n")
    assert document.remove([document.items[1]]).render() == "- a\n- c\n  goes on\n- d\n"


HOSTILE = ["```\n", "```x\n", "<!-- \n", "# " + " " * 400 + "x\n", "- ", ">", "|\n", "[", "![",
           "<a", "\\", "| a | b |\n|---|---|\n"]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_reading_is_linear(hostile):
    """No text makes reading slow."""
    began = time.process_time()  # Of this process alone: others may keep the machine busy.
    parse(hostile * (200_000 // len(hostile)))
    assert time.process_time() - began < 5


def test_scrubbing_leaves_no_trace():
    """Erased words go from items, prose, code, quotes, tables and headings; the rest stays."""
    text = (
        "# Memory\n\n## The PIN is 4711!\n\n- the  pin IS\n  4711\n- Ana likes tea\n\n"
        "She said: the pin is 4711.\n\n> the pin is 4711\n> but not this\n\n"
        "```\nthe pin is 4711\nx = 1\n```\n<!-- the pin is 4711\nold -->\n- tea\n"
    )
    clean, gone = scrub(text, ["The PIN is 4711", "tea"])
    assert "4711" not in clean
    assert gone == 8
    assert texts(clean) == ["Ana likes tea"]
    assert "> but not this\n" in clean
    assert "```\nx = 1\n```\n" in clean
    assert clean.startswith("# Memory\n\n## …\n\n- Ana likes tea\n\n> but")


def test_scrubbing_finds_words_over_several_lines():
    """A content of several lines is found as it stands and as one line."""
    content = "Shopping:\n- milk\n- eggs"
    text = f"- other\n\n{content}\n\n- Shopping: - milk - eggs\n- milk shakes\n"
    assert scrub(text, [content]) == ("- other\n\n- milk shakes\n", 4)
    assert scrub("- other\n", [content, "", "  "]) == ("- other\n", 0)


@given(markdown, words)
def test_scrubbing_is_complete_and_careful(text, content):
    """Nothing is left that says it, and without it nothing changes."""
    clean, gone = scrub(text, [content, "a fact"])
    assert all("a fact" not in stated for stated in texts(clean))
    assert gone or clean == text
    assert scrub(clean, [content, "a fact"]) == (clean, 0)
