"""Memory's own words when they come back."""

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text

from memoranda.text.recalled import (
    apart,
    escape_fence,
    lines,
    without_lines,
    without_quotes,
    without_recalled,
)

BLOCK = "<memoranda-memory note='x'>\n- [2026] tea\n</memoranda-memory>"
LINE = "- [2026-05-01 12:00, user] Ana is vegetarian"


@each_row(
    ("text", "left"),
    [
        (BLOCK, ""),
        (f"a {BLOCK}\n\n b", "a b"),
        (f"{BLOCK}{BLOCK}x{BLOCK}", "x"),
        ("<memoranda-memory> never closed", "<memoranda-memory> never closed"),
        ("</memoranda-memory> only closed", "</memoranda-memory> only closed"),
        ("<memoranda-memoryish>x</memoranda-memory>", "<memoranda-memoryish>x</memoranda-memory>"),
        ("no block", "no block"),
        ("", ""),
    ],
)
def test_blocks_of_recall_are_taken_out(text, left):
    """Law 9: only whole blocks go; all else stays as it was."""
    assert without_recalled(text) == left


@each_row(
    "tag",
    [
        "<memoranda-memory>",
        "</memoranda-memory>",
        "< / MEMORANDA-Memory note='x'>",
        "\uff1cmemoranda-memory\uff1e",
        "\ufe64/memoranda-memory\ufe65",
        "<\uff4d\uff45\uff4doranda-memory>",
        "<memo\u200branda-mem\u2060ory>",
        "<memoranda\u00admemory>",
        "</memo\u00adranda-memory>",
        "<memoranda\u2010memory>",
        "<memoranda\u2011memory>",
        "<memoranda\u2013memory>",
        "<memoranda\u2014memory>",
        "<memoranda\u2212memory>",
        "<m\u0435m\u043er\u0430nda-memory>",
        "<\u043c\u0435\u043c\u043e\u0433\u0430nda-mem\u03bfry>",
        "<\u1d0d\u1d07moranda-memory>",
        "<memoranda-mem\U000e0041ory>",
        "<mem0randa-memory>",
        "<mem\u0301oranda-memory>",
        "<memo\nranda-memory>",
        "<memo\x00randa-memory>",
        "<\U0001d426emoranda-memory>",
    ],
)
def test_what_reads_as_the_fence_cannot_open_or_close_it(tag):
    """Law 10: whatever letters, dashes and invisible characters it is written with."""
    assert escape_fence(f"a {tag}x") == f"a ‹{tag[1:]}x"


@each_text
def test_other_tags_stay_as_they_are(text):
    """Nothing else is changed.

    <memo> | a < b | <memorandum-memory> | <b>memoranda-memory</b> | x <- memo <memoranda>
    """
    assert escape_fence(text) == text


@given(parts=st.lists(st.sampled_from([BLOCK, "tea ", "<", ">", "memoranda-memory", "</"])))
def test_taking_out_twice_is_taking_out_once_where_no_block_is_left(parts):
    """What is left is never longer, and text without a fence is untouched."""
    text = "".join(parts)
    left = without_recalled(text)
    assert len(left) <= len(text)
    if "<memoranda-memory" not in text:
        assert left == text
    assert BLOCK not in left or left != text


def test_a_block_says_which_contents_it_told():
    """Each whole line of a block is the content of a record; what is around it is new."""
    found = apart(f"Hello <memoranda-memory>\n## Relevant memory\n{LINE}\n</memoranda-memory> you")
    assert found == ("Hello you", ("Ana is vegetarian",))


@each_row
def test_lines_of_recall_have_a_form_of_their_own(text, content):
    """Lists, diaries and tasks that a person writes are not taken for recalled records.

    - [2026-05-01 12:00, user] Ana is vegetarian | Ana is vegetarian
    - [2026-05-01 12:00, agent, confidence 0.4, fact_01] I run | I run
    - [x] a task of a list |
    - [2026-05-01] a diary |
    said - [2026-05-01 12:00, user] within a line |
    """
    assert lines(text) == ([content] if content else [])


def test_only_lines_of_known_records_go():
    """A line that only looks like recall is someone's own and stays."""
    text = f"Before\n{LINE}\n- [2026-05-01 12:00, user] I made this up\nafter"
    left = without_lines(text, {"Ana is vegetarian": 1})
    assert left == "Before\n- [2026-05-01 12:00, user] I made this up\nafter"


def test_a_quote_of_what_was_recalled_is_use_and_not_news():
    """The quoted words go, in any case and spacing; the record is named; other words stay."""
    recalled = {"fact_1": "Ana is allergic to nuts.", "fact_2": "Tea", "fact_3": "Bo is in Rome."}
    text, used = without_quotes("You said: ana is  allergic\nto nuts. Tea? Yes.", recalled)
    assert (text, used) == ("You said:  Tea? Yes.", ("fact_1",))
    longer = "We saw that Ana is allergic to nutshells"
    assert without_quotes(longer, {"fact_1": "Ana is allergic to nuts"}) == (longer, ())


@given(text=st.text(), contents=st.lists(st.text(), max_size=3))
def test_any_text_can_be_read(text, contents):
    """No text makes the reading fail, and nothing is added."""
    left, used = without_quotes(text, {str(i): content for i, content in enumerate(contents)})
    assert len(left) <= len(text)
    assert bool(used) == (left != text)
    assert len(without_lines(text, dict.fromkeys(lines(text)))) <= len(text)
