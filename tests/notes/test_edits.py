"""What a person changed in MEMORY.md: each change once, and nothing that is none."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.checks import content_hash
from memoranda.model.models import Kind, Record
from memoranda.notes.document import parse
from memoranda.notes.edits import digest_of, noted_line, read_edits

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEA = "Ana likes green tea"
BOB = "Bob is her brother"
CAT = "The cat is called Miro"


def fact(id, content, **more):
    """Return a fact as a store has it."""
    digest = content_hash(content)
    return Record(id=id, kind=Kind.FACT, content=content, user="ana", event_time=NOW,
                  created_at=NOW, content_hash=digest, **more)  # fmt: skip


def ended(record, by=None):
    """Return a record as it is when it is no longer believed."""
    return replace(record, valid_until=NOW, superseded_by=by)


def read(text, *records, erased=()):
    """Return the edits of a file that had a line for each of the records, erased ones too."""
    base = [noted_line(each.id, each.content) for each in (*records, *erased)]
    known = {each.id: each for each in records}
    return read_edits(base, parse(text), known, lambda each: each.valid_until is None)


def said(lines):
    """Return items as the ids and texts of their lines."""
    return [(line.id, line.item.text) for line in lines]


THREE = (fact("a", TEA), fact("b", BOB), fact("c", CAT))


def test_a_file_as_it_was_has_no_edits():
    """Moved lines, other markers, spaces and sections, prose around them: no edit."""
    text = f"# M\n\n## X\n* {CAT}\n\n## Y\n- {TEA}\n\n1. Bob  is her\n   brother\n- {TEA}\n"
    edits = read(text, *THREE)
    assert not edits
    assert said(edits.lines) == [("c", CAT), ("a", TEA), ("b", BOB), ("a", TEA)]


def test_added_changed_and_removed():
    """A new line is added, another wording of one is a change, a missing one is removed."""
    edits = read(f"- Something of another kind\n- {TEA}\n- {CAT}!\n", *THREE)
    assert said(edits.changed) == [("c", f"{CAT}!")]
    assert edits.removed == ("b",)
    assert [each.text for each in edits.added] == ["Something of another kind"]


def test_a_line_in_the_place_of_another_is_a_change():
    """Between the same neighbours, also other words are a change; one word of another case is."""
    assert said(read(f"- {TEA}\n- Nothing alike\n- {CAT}\n", *THREE).changed) == [
        ("b", "Nothing alike")
    ]
    assert said(read(f"- {TEA.upper()}\n- {BOB}\n- {CAT}\n", *THREE).changed) == [
        ("a", TEA.upper())
    ]


def test_the_most_alike_are_paired_first():
    """Of two new wordings the closer one is the change, the other one is new."""
    edits = read(f"- {BOB}\n- {CAT}\n- Ana likes tea a lot\n- Ana likes black tea\n", *THREE)
    assert said(edits.changed) == [("a", "Ana likes black tea")]
    assert [each.text for each in edits.added] == ["Ana likes tea a lot"]


def test_words_without_spaces_are_compared():
    """Scripts that leave no spaces are compared by their characters."""
    edits = read(f"- {TEA}\n- 安娜喜欢喝绿茶吗\n", fact("z", "安娜喜欢喝红茶"), fact("a", TEA))
    assert said(edits.changed) == [("z", "安娜喜欢喝绿茶吗")]


def test_another_section_is_another_statement():
    """Alike lines of sections that have nothing to do with each other are not paired."""
    old = (fact("a", TEA), fact("b", BOB), fact("c", CAT))
    edits = read(f"## One\n\n- {BOB}\n- {CAT}\n\n## Two\n\n- Zoe likes green tea\n", *old)
    assert edits.removed == ("a",)
    assert [each.text for each in edits.added] == ["Zoe likes green tea"]


def test_one_of_several_copies_may_go():
    """Taking out one of two equal lines removes nothing; taking out both removes it once."""
    base = [noted_line("a", TEA), noted_line("b", BOB), noted_line("a", TEA)]
    known = {"a": fact("a", TEA), "b": fact("b", BOB)}
    assert not read_edits(base, parse(f"- {TEA}\n- {BOB}\n"), known, lambda _: True)
    assert read_edits(base, parse(f"- {BOB}\n"), known, lambda _: True).removed == ("a",)


def test_what_says_just_the_same_goes_with_it():
    """A removed line removes every believed fact with this very line."""
    twin = fact("t", f"Ana  likes\n{TEA[10:]}")
    base = [noted_line("a", TEA), noted_line("b", BOB)]
    known = {each.id: each for each in (*THREE, twin)}
    edits = read_edits(base, parse(f"- {BOB}\n- {CAT}\n"), known, lambda _: True)
    assert set(edits.removed) == {"a", "t"}


def test_ended_and_erased_lines_are_never_new():
    """A line whose record ended is stale, one of an erased record erased; neither is added."""
    edits = read(f"- {TEA}\n- {BOB}\n- {CAT}\n", ended(THREE[0]), THREE[1], erased=THREE[2:])
    assert said(edits.stale) == [("a", TEA)]
    assert said(edits.erased) == [("c", CAT)]
    assert said(edits.lines) == [("b", BOB)]
    assert not edits


def test_a_line_that_both_removed_is_no_edit():
    """What ended in the store and was taken out of the file is settled."""
    assert not read(f"- {BOB}\n- {CAT}\n", ended(THREE[0]), *THREE[1:])


def test_a_change_of_what_ended_is_kept_and_told():
    """A line changed while its record ended is new evidence, and a conflict to be told."""
    edits = read(f"- {TEA} in winter\n- {BOB}\n- {CAT}\n", ended(THREE[0]), *THREE[1:])
    assert [each.text for each in edits.added] == [f"{TEA} in winter"]
    assert said(edits.conflicts) == [("a", f"{TEA} in winter")]
    assert edits.removed == ()


def test_a_standing_fact_is_known_without_the_base():
    """A line that a standing fact has is that fact's, also where the base does not know it."""
    edits = read_edits([], parse(f"- {TEA}\n- x\n"), {"a": THREE[0]}, lambda _: True)
    assert said(edits.lines) == [("a", TEA)]
    assert [each.text for each in edits.added] == ["x"]


@pytest.mark.parametrize("end", range(len(f"- {TEA}\n- {BOB}\n- {CAT}\n")))
def test_a_half_written_file_is_no_removal(end):
    """Cut off anywhere but at the end of a line, the file is known as a remainder."""
    text = f"- {TEA}\n- {BOB}\n- {CAT}\n"
    edits = read(text[:end], *THREE)
    if end == len(text) - 1:
        assert not edits
        assert not edits.cut_short
    elif end and text[end - 1] == "\n":
        assert edits.removed
    else:
        assert edits.cut_short
        assert not edits


def test_a_file_without_a_final_newline_is_not_cut_short():
    """An edit in a file whose last line has no end is an edit."""
    edits = read(f"- {TEA}\n- {BOB}\n- {CAT}\n- more", *THREE)
    assert not edits.cut_short
    assert [each.text for each in edits.added] == ["more"]
    assert not read("", ended(THREE[0])).cut_short


def test_many_removals_at_once_are_asked_about():
    """More than half of at least ten lines gone is a mass removal; half of them is not."""
    many = [fact(f"f{at}", f"fact number {at}") for at in range(10)]
    lines = [f"- {each.content}\n" for each in many]
    assert not read("".join(lines[5:]), *many).mass_removal
    assert read("".join(lines[6:]), *many).mass_removal
    assert not read("".join(lines[8:9]), *many[:9]).mass_removal


def test_prose_and_odd_lines_are_taken_as_they_stand():
    """A paragraph is a statement, a blank item none, a very long one is."""
    long = "word " * 2_000
    edits = read(f"# T\n\nProse of\na person.\n\n- \n- {long}\n- \ud800\n")
    assert [each.text for each in edits.added] == ["Prose of a person.", long.strip(), "\ud800"]
    assert digest_of("\ud800")


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.data())
def test_every_line_is_accounted_for(names, data):
    """An item is a line, stale, erased, changed or added: one of these and never two."""
    records = [fact(name, f"fact {name} of ana") for name in names]
    records = [ended(each) if data.draw(st.booleans()) else each for each in records]
    lost = [each for each in records if data.draw(st.integers(0, 4)) == 0]
    texts = [each.content for each in records] + ["fact x of ana", "other", "fact a of Ana"]
    lines = data.draw(st.lists(st.sampled_from(texts)))
    edits = read(
        "".join(f"- {line}\n" for line in lines),
        *(each for each in records if each not in lost),
        erased=lost,
    )
    if edits.cut_short:
        assert not lines
        return
    groups = (edits.lines, edits.stale, edits.erased, edits.changed)
    items = [line.item for group in groups for line in group] + list(edits.added)
    assert sorted(item.start for item in items) == list(range(len(lines)))
    standing = {each.id for each in records if each not in lost and each.valid_until is None}
    told = {line.id for line in (*edits.lines, *edits.changed)}
    assert standing == told | set(edits.removed)
    assert not told & set(edits.removed)
