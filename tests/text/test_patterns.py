"""Tests of the patterns over text from outside."""

import re

import pytest

from memoranda.text.patterns import any_of, compile_pattern


def test_a_pattern_works_as_the_engine_makes_it():
    """Each method of a compiled pattern is there, and so are its flags."""
    words = compile_pattern(r"(?P<word>[a-z]+)", re.IGNORECASE)
    assert words.search("1 Two")["word"] == "Two"
    assert [found[0] for found in words.finditer("a b")] == ["a", "b"]
    assert words.sub("x", "a b") == "x x"
    assert (words.pattern, words.flags) == (r"(?P<word>[a-z]+)", re.IGNORECASE)
    assert words.groupindex == {"word": 1}


def test_a_pattern_is_compiled_when_it_is_first_used():
    """A mistake in a pattern shows at its first use, not where it is defined."""
    broken = compile_pattern("(")
    with pytest.raises(re.error):
        broken.search("text")


def test_the_longest_word_is_tried_first():
    """A word that begins with another one is found whole, with any white space inside."""
    group = compile_pattern(any_of(["a", "a few", "few"]))
    assert group.search("in a  few days")[0] == "a  few"
