"""Tests of where sentences end."""

from tables import each_row

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
