"""Tests of patterns that run in linear time: they mean what they mean to :mod:`re`."""

import random
import re
import string
import tomllib
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared.pattern_list import all_patterns

from memoranda import Memory
from memoranda.testing.embedders import HashEmbedder
from memoranda.text.linear_patterns import LinearPattern, PatternError, Prefilter
from memoranda.text.patterns import compile_pattern

# What kept a process busy for seconds, minutes or ever, when patterns still backtracked.
ENDLESS = [
    "Thank you so much! " * 19 + "Bob", "thank you " * 22 + "zzz", "I live in Berlin. " * 150,
    "Please remember that I moved " + "back from a out " * 20 + "x.", "on 5 May 2023 " * 150,
    "Stop" + " this roleplay" * 22 + " zzz", ":" * 5_000, "." * 8_000, "a-" * 5_000,
    " " * 8_000 + "x", "\n" * 8_000 + "x", '"' * 8_000, "ä" * 8_000,
]  # fmt: skip


def _spans(match: Any) -> list[tuple[int, int]] | None:
    """Return where a match and its groups are."""
    return None if match is None else [match.span(n) for n in range(len(match.groups()) + 1)]


def _texts() -> list[str]:
    """Return sentences in many languages, and texts that are hard to read."""
    found = [
        "Ana's new number is 12-34; call at 5:30 p.m., or write to ana@mail.example!",
        "On 5 May 2023 we moved from São Paulo to Zürich (again), didn't we?\nYes.\n",
        "ИВАН живёт в Москве уже 7 лет…\nÇa va? «Oui»",
        "2026-01-02T10:00:00Z ERROR foo_bar: https://x.example/a?b=c `code`\n",
        "the user's favourite colour is blue. no longer! i'm 35yo İstanbul naïve café",
        " \t\n",
        "",
    ]
    for file in sorted((Path(__file__).parent.parent / "languages").glob("*.toml")):
        found += [case["says"] for case in tomllib.loads(file.read_text("utf-8"))["cases"][:20]]
    return found


def test_every_pattern_means_what_it_means_to_re():
    """Whatever a pattern of the package finds by backtracking, it finds in linear time."""
    rng = random.Random(1)  # noqa: S311 - chooses examples
    texts = _texts()
    number = 0
    for number, (source, flags) in enumerate(all_patterns(), 1):  # noqa: B007 - counted
        expected, found = re.compile(source, flags), LinearPattern(source, flags)
        prefilter = Prefilter(source, flags)
        for text in [*texts[:2], *rng.sample(texts, 2)]:
            place = rng.randrange(len(text) + 1)
            for match in expected.finditer(text):
                assert prefilter.may_match(match[0].upper()), (source, match[0])
            for how in ("search", "match", "fullmatch"):
                spans = _spans(getattr(expected, how)(text, place))
                assert _spans(getattr(found, how)(text, place)) == spans, (source, text, how, place)
            every = [_spans(match) for match in expected.finditer(text)]
            assert [_spans(match) for match in found.finditer(text)] == every, (source, text)
    assert number > 500


LETTERS = "ab Zé_1.\n"
ELEMENTS = ["a", "b", "é", "Z", "_", r"\.", r"\w", r"\W", r"\d", r"\s", r"\S", r"\n", "."]
ELEMENTS += ["[ab]", "[^a]", "[é-ü]", r"[^\W\d_]", "(?i:z)", "[a-z]"]
REPEATS = ["", "", "+", "*", "?", "{1,2}", "+?", "*?"]
PLACES = [r"\b", r"\B", "^", "$", r"\A", r"\Z", r"(?=\w)", "(?!a)", "(?<=a)", "(?<!é)", r"(?<!\s)"]
PLACES += [r"(?=a\b)", r"(?!\s*b)", "(?<=ab)", "(?=b$)"]


def _joined(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return the patterns that are made of others."""
    return st.one_of(
        st.lists(children, min_size=1, max_size=3).map("".join),
        st.lists(children, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        children.map(lambda each: f"({each})"),
        st.tuples(children, st.sampled_from(PLACES)).map("".join),
        st.tuples(st.sampled_from(PLACES), children).map("".join),
    )


# All letters that RE2 knows have a class of their own in such a pattern: none is left for others.
ALL_LETTERS = f"|{string.ascii_letters}{string.digits}_"

PATTERNS = st.recursive(
    st.tuples(st.sampled_from(ELEMENTS), st.sampled_from(REPEATS)).map("".join),
    _joined,
    max_leaves=8,
)


@pytest.mark.hypothesis
@given(
    pattern=st.tuples(PATTERNS, st.sampled_from(["", ALL_LETTERS])).map("".join),
    flags=st.sampled_from([0, re.IGNORECASE, re.MULTILINE, re.DOTALL]),
    text=st.text(LETTERS, min_size=1, max_size=12),
    data=st.data(),
)
def test_any_pattern_means_what_it_means_to_re(
    pattern: str, flags: int, text: str, data: st.DataObject
):
    """Places, groups, sets, repeats and assertions in any order find the same in any text."""
    place, start = data.draw(st.integers(0, len(text))), process_time()
    expected, found = re.compile(pattern, flags), LinearPattern(pattern, flags)
    assert Prefilter(pattern, flags).may_match(text) or not expected.search(text)
    for how in ("search", "match", "fullmatch"):
        spans = _spans(getattr(expected, how)(text, place))
        assert _spans(getattr(found, how)(text, place)) == spans
    assert process_time() - start < 2


def test_a_text_is_looked_at_before_a_pattern_is_compiled():
    """What a text must hold is known of words, sets, repeats and branches, whatever the case."""
    cases = [
        (r"\b(?:last|next)\s+(?P<u>weeks?|months?)", "NEXT  Month", "last year"),
        (r"(?:in\s+)?[0-9]{1,2}(?:st|nd)?", "room 7", "in room seven"),
        (r"key=[A-Za-z0-9]{12,}|://", "KEY=abcdefgh1234", "key=abc def ghi jkl"),
        ("(?:kind|\u017fo)\\d", "\u212aİND1", "lo"),
        (r"(?:a|)x?", "", None),
    ]
    for source, fits, lacks in cases:
        pattern = compile_pattern(source, re.IGNORECASE)
        assert lacks is None or (pattern.search(lacks), [*pattern.finditer(lacks)]) == (None, [])
        assert Prefilter(source, re.IGNORECASE).may_match(fits), source
        assert lacks is None or not Prefilter(source, re.IGNORECASE).may_match(lacks), source
        assert pattern.search(fits).span() == re.search(source, fits, re.IGNORECASE).span()


def test_the_methods_are_those_of_re():
    """Splitting, replacing and finding all give what they give with re.

    A backreference, a condition, and a group inside an assertion are an error at once.
    """
    for pattern in (r"(a)\1", r"(?=(a))", r"(a)?(?(1)b|c)"):
        with pytest.raises(PatternError):
            LinearPattern(pattern)
    text = "one, two;three, and 4"
    for source in (r"[,;]\s*", r"([,;])\s*", r"(?P<n>\w)(\w+)", r"\b", "x"):
        expected, found = re.compile(source), LinearPattern(source)
        assert found.findall(text) == expected.findall(text)
        assert found.split(text) == expected.split(text)
        assert found.split(text, 1) == expected.split(text, 1)
        assert found.subn("-", text) == expected.subn("-", text)
        assert found.sub(lambda m: f"<{m[0]}>", text, 2) == expected.sub(
            lambda m: f"<{m[0]}>", text, 2
        )
    named = LinearPattern(r"(?P<first>\w+), (?:(?P<second>two)|three)")
    match = named.search(text)
    assert match is not None
    assert match.expand(r"\2 \g<first> \\") == "two one \\"
    assert match.groupdict() == {"first": "one", "second": "two"}
    assert (match.lastgroup, match.groups("-")) == ("second", ("one", "two"))
    with pytest.raises(IndexError, match="third"):
        match["third"]


def test_a_far_part_of_a_long_text_is_found_where_it_is():
    """A search between two places of a long text sees what is before, and tells the places."""
    text = "x" * 5_000 + " (word) " + "y" * 5_000
    found = LinearPattern(r"(?<=\()(?P<inside>\w+)\b").search(text, 4_990, 5_010)
    assert found is not None
    assert (found.span("inside"), found["inside"]) == ((5_002, 5_006), "word")


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
