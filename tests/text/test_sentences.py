"""Tests of where sentences end."""

from tables import each_row

from memoranda.text.sentences import sentence_texts, split_sentences
from memoranda.text.terms import cut_sentences


@each_row(
    ("text", "options", "expected"),
    [
        ("It rains. It pours!\nGood", {}, ["It rains.", "It pours!", "Good"]),
        ("雨だ。晴れた。", {}, ["雨だ。", "晴れた。"]),
        ("雨だ。晴れた。 So", {"unspaced": False}, ["雨だ。晴れた。", "So"]),
        ("One.\nTwo. three", {"lines": False, "capital": True}, ["One.", "Two. three"]),
        ('“Go.” "Now." Gone', {"closing": True}, ['“Go.” "Now.', "Gone"]),
        ("Ask Dr. Ito. She knows No. 5.", {"titles": True}, ["Ask Dr. Ito.", "She knows No. 5."]),
        ("", {}, []),
    ],
)
def test_a_sentence_ends_where_the_caller_wants_it(text, options, expected):
    """Marks, lines, quotes, capitals and titles end a sentence as the arguments say."""
    assert cut_sentences(text, **options) == expected


@each_row(
    ("text", "expected"),
    [
        ("It rains. It pours!\r\nGood", ["It rains.", "It pours!", "Good"]),
        ("雨だ。晴れた\uff1f「はい。」", ["雨だ。", "晴れた\uff1f", "「はい。」"]),
        ("“Go.” (Now!) i left. ok", ["“Go.”", "(Now!)", "i left.", "ok"]),
        (
            "Ask Dr. Ito of No. 5. No. It's J. Smith.",
            ["Ask Dr. Ito of No. 5.", "No.", "It's J. Smith."],
        ),
        ("Am 3. Mai war ich 35. Ich ging.", ["Am 3. Mai war ich 35.", "Ich ging."]),
        (
            "At 5 p.m. on Friday, not 6 p.m. She waits.",
            ["At 5 p.m. on Friday, not 6 p.m.", "She waits."],
        ),
        (" \n ", []),
    ],
)
def test_a_sentence_ends_at_its_mark_or_its_line(text, expected):
    """Shortened words, initials and ordinals end none; closing signs belong to it."""
    assert sentence_texts(text) == expected


def test_a_sentence_tells_its_place_and_whether_it_asks():
    """Nothing but white space is outside of the sentences; a question has a question mark."""
    text = ' Really?! "Who?" (是吗\uff1f) Yes... '
    found = split_sentences(text)
    assert [each.question for each in found] == [True, True, True, False]
    assert "".join(text[each.start : each.end] for each in found) == text.replace(" ", "")
