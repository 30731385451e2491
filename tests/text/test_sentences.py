"""Tests of where sentences end."""

from tables import each_row

from memoranda.text.sentences import sentence_texts, split_sentences


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
    found = list(split_sentences(text))
    assert [each.question for each in found] == [True, True, True, False]
    assert "".join(text[each.start : each.end] for each in found) == text.replace(" ", "")
