"""Tests of patterns that run in linear time: they mean what they mean to :mod:`re`."""

import re
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row
from tests.shared.pattern_list import all_patterns

from memoranda import Memory
from memoranda.testing.embedders import HashEmbedder
from memoranda.text.patterns import LinearPattern, PatternError, join_surrogates

# What kept a process busy for seconds, minutes or ever, when patterns still backtracked.
ENDLESS = [
    "Thank you so much! " * 19 + "Bob", "thank you " * 22 + "zzz", "I live in Berlin. " * 150,
    "Please remember that I moved " + "back from a out " * 20 + "x.", "on 5 May 2023 " * 150,
    "Stop" + " this roleplay" * 22 + " zzz", ":" * 5_000, "." * 8_000, "a-" * 5_000,
    " " * 8_000 + "x", "\n" * 8_000 + "x", '"' * 8_000, "ä" * 8_000,
]  # fmt: skip


def _spans(match: Any, groups: int) -> list[tuple[int, int]] | None:
    """Return where a match and its groups are."""
    return None if match is None else [match.span(n) for n in range(groups + 1)]


def test_every_pattern_can_be_run():
    """No pattern of the package asks for a thing that RE2 has not."""
    number = 0
    for number, (source, flags) in enumerate(all_patterns(), 1):  # noqa: B007 - counted
        LinearPattern(source, flags).search("Ana's new number is 12-34.")
    assert number > 100


LETTERS = "ab Zé_1.\n"
ELEMENTS = ["a", "b", "é", "Z", "_", r"\.", r"\w", r"\W", r"\d", r"\s", r"\S", r"\n", "."]
ELEMENTS += ["[ab]", "[^a]", r"[^\W\d_]", r"[^\W_]", r"[\w.]", "(?i:z)", "[a-z]", r"\u00e9"]
REPEATS = ["", "", "+", "*", "?", "{1,2}", "+?", "*?"]
PLACES = [r"\b", r"\B", "^", r"\A", r"\Z"]


def _joined(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return the patterns that are made of others."""
    return st.one_of(
        st.lists(children, min_size=1, max_size=3).map("".join),
        st.lists(children, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        children.map(lambda each: f"({each})"),
        st.tuples(children, st.sampled_from(PLACES)).map("".join),
        st.tuples(st.sampled_from(PLACES), children).map("".join),
    )


PATTERNS = st.recursive(
    st.tuples(st.sampled_from(ELEMENTS), st.sampled_from(REPEATS)).map("".join),
    _joined,
    max_leaves=8,
)


@pytest.mark.hypothesis
@given(
    pattern=PATTERNS,
    flags=st.sampled_from([0, re.IGNORECASE, re.MULTILINE, re.DOTALL]),
    text=st.text(LETTERS, min_size=1, max_size=12),
    data=st.data(),
)
def test_any_pattern_means_what_it_means_to_re(
    pattern: str, flags: int, text: str, data: st.DataObject
):
    """Places, groups, sets and repeats in any order find the same in any text."""
    if not flags & re.IGNORECASE:
        text = text.replace("é", "e")  # What stands beside one is told only without regard to case.
    place, start = data.draw(st.integers(0, len(text))), process_time()
    expected, found = re.compile(pattern, flags), LinearPattern(pattern, flags)
    for how in ("search", "match", "fullmatch"):
        spans = _spans(getattr(expected, how)(text, place), expected.groups)
        assert _spans(getattr(found, how)(text, place), expected.groups) == spans
    assert process_time() - start < 2


@each_row(
    ("source", "flags", "text", "expected"),
    [
        (r"\bété\b", re.IGNORECASE, "ÉTÉ, aété; etes", ["ÉTÉ"]),
        (r"\w+", re.IGNORECASE, "Straße Ижевск 京都 año_1", ["Straße", "Ижевск", "京都", "año_1"]),
        (r"\w+", 0, "Straße, Ижевск", ["Straße", "Ижевск"]),
        (r"[^\W\d_]+", 0, "x1 é_京", ["x", "é", "京"]),
        (r"on (?-i:[A-Z])\w+", re.IGNORECASE, "On monday ON Friday", ["ON Friday"]),
        (r"a\s\d", re.IGNORECASE, "A\u00a0\u0663 a\u30005", ["A\u00a0\u0663", "a\u30005"]),
        ("i", re.IGNORECASE, "\u0130\ud800i", ["\u0130", "i"]),
        ("schon", re.IGNORECASE, "Schön schon", ["schon"]),
    ],
)
def test_letters_of_all_scripts_are_letters(source, flags, text, expected):
    """Case, accents, digits and spaces are those of the text; the match is as it was written."""
    assert LinearPattern(source, flags).findall(text) == expected


def test_the_methods_are_those_of_re():
    """Splitting, replacing and finding all give what they give with re.

    What cannot be run in linear time is an error, and so is what looks around.
    """
    for pattern in (r"(a)\1", r"(?=a)", r"(?<!a)b", r"[^\Wx]"):
        with pytest.raises(PatternError):
            LinearPattern(pattern).search("a")
    text = "one, two;three, and 4"
    for source in (r"[,;]\s*", r"([,;])\s*", r"(?P<n>\w)(\w+)", "x"):
        expected, found = re.compile(source), LinearPattern(source)
        assert found.findall(text) == [match[0] for match in expected.finditer(text)]
        if not expected.groups:
            assert found.split(text) == expected.split(text)
        assert found.sub("-", text) == expected.sub("-", text)
        assert found.sub(lambda m: f"<{m[0]}>", text) == expected.sub(lambda m: f"<{m[0]}>", text)
    named = LinearPattern(r"(?P<first>\w+), (?:(?P<second>two)|three)")
    match = named.search(text)
    assert match is not None
    assert match.lastgroup == "second"
    assert (match.get("first"), match.get("second"), match.get("third")) == ("one", "two", None)


def test_no_text_keeps_a_verb_busy():
    """Every verb that reads a text returns, also for those on which patterns backtrack."""
    with Memory(":memory:", embedder=HashEmbedder()) as memory:
        chat = memory.conversation("talk")
        for text in ENDLESS:
            memory.remember(text)
            memory.search(text)
            memory.recall(text)
            chat.add("user", text)
        chat.stats()
        chat.end()
        memory.consolidate()
        memory.doctor()
        assert memory.count() > len(ENDLESS)


def test_a_text_with_halves_of_characters_can_be_written_as_utf8():
    """Pairs become their character, lone surrogates U+FFFD, and the rest stays."""
    assert join_surrogates("tea ☕") == "tea ☕"
    assert join_surrogates("\ud83d\ude00") == "😀"
    assert join_surrogates("a\ud83d\udc00b\udfff") == "a\U0001f400b\ufffd"
    assert join_surrogates("\ud83dx") == "\ufffdx"
