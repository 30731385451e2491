"""The words of a line, and the runs of them that have the form of a name: by capitals alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memoranda.entities.vocabulary import given_names, is_common, names, places
from memoranda.text.patterns import compile_pattern

_TOKEN = compile_pattern(r"(?:[^\W\d_]\.){2,}|\w++(?:[-'’&]\w++|(?<=\d)\.\d++)*\+*")
_START = compile_pattern(
    r"[.!?…:;\"“”(\[*•>|/=~{}+]|[-\u2013\u2014]\s|[\u2190-\u2bff\U0001f000-\U0001faff]"
)
_POSSESSIVE = compile_pattern(r"['’](?:s|S|m|re|ve|d|ll)$|['’]$")
INNER_CAPITAL = compile_pattern(
    r"[A-Z][a-z]+(?:[A-Z][a-z]*)+\d*|[ei][A-Z][a-z]{2,}\w*|[A-Z]{2,}[a-z]+[A-Z]\w*"
)
_LONGEST_VERSION = 3
HEADLINE = 5
_LONG_WORD = 4
LONGEST_NAME = 3


class WordToken(NamedTuple):
    """A word of a line: ``name`` is it without ``'s``, ``gap`` what stands before it."""

    name: str
    start: int
    gap: str
    possessive: bool
    opens: bool

    @property
    def end(self) -> int:
        """The character after the word, without its ``'s``."""
        return self.start + len(self.name)


def split_words(text: str, start: int, end: int) -> list[WordToken]:
    """Cut a line into words."""
    tokens: list[WordToken] = []
    opens, before = True, start
    for match in _TOKEN.finditer(text, start, end):
        word, begin = match[0], match.start()
        gap = text[before:begin]
        ending = None if word.isalnum() else _POSSESSIVE.search(word)
        name = word[: ending.start()] if ending and ending.start() else word
        if gap == " ":
            opens = opens and not tokens
        elif tokens:
            # The full stop of "Dr." and of an initial ends no sentence.
            previous = tokens[-1].name
            stop = gap == ". " and (len(previous) == 1 or previous.lower() in names.titles)
            opens = not stop and _START.search(gap) is not None
        tokens.append(WordToken(name, begin, gap, ending is not None, opens))
        before = match.end()
    return tokens


def is_shouted(tokens: Sequence[WordToken]) -> bool:
    """Return whether a line is mostly in capitals, so that they do not mark names."""
    long = [token.name for token in tokens if len(token.name) > 1]
    loud = sum(map(str.isupper, long))
    return loud > 1 and loud * 2 > len(long)


def is_title_line(tokens: Sequence[WordToken], capitals: int) -> bool:
    """Return whether nearly every word of a line is capitalized, long or short."""
    return len(tokens) >= HEADLINE and capitals * 5 >= len(tokens) * 4


def is_headline(tokens: Sequence[WordToken]) -> bool:
    """Tell whether capitals prove little here, because most words have one."""
    long = [token.name for token in tokens if len(token.name) >= _LONG_WORD]
    loud = sum(word[0].isupper() for word in long)
    return len(long) >= HEADLINE and loud * 5 > len(long) * 3


def cut_headline(tokens: Sequence[WordToken], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the names in a capitalized run of a headline, without the everyday words in it.

    A known name, place or organization stays whole: "Joel Ward", "Ohio State".
    """
    run = tokens[first : last + 1]
    if len(run) <= LONGEST_NAME and (
        run[0].name.lower() in given_names()
        or any(token.name.lower() in places() for token in run)
        or run[-1].name.lower() in names.organization_ends
    ):
        yield first, last
        return
    start = first
    for index, token in enumerate([*run, None], first):
        if token is None or (is_common(token.name) and token.name.lower() not in given_names()):
            if start < index:
                yield start, index - 1
            start = index + 1


def _can_name(token: WordToken) -> bool:
    """Tell whether a word has the form of a name or of a part of one."""
    word = token.name
    if word.islower() or "_" in word or word == "I":
        return False
    return word[0].isupper() or INNER_CAPITAL.fullmatch(word) is not None


def capitalized_runs(tokens: Sequence[WordToken]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of every run of capitalised words."""
    first, count = 0, len(tokens)
    while first < count:
        if not _can_name(tokens[first]):
            first += 1
            continue
        last = first
        while (step := _reach(tokens, last)) > 0:
            last += step
        yield first, last
        first = last + 1


def _reach(tokens: Sequence[WordToken], last: int) -> int:
    """Return how many words further a name goes on after the word ``last``."""
    word = tokens[last]
    if word.possessive or last + 1 >= len(tokens):
        return 0
    following = tokens[last + 1]
    initial = following.gap == ". " and not following.opens
    if _can_name(following) and (following.gap in {" ", " & "} or initial):
        return 1
    if following.gap != " ":
        return 0
    if (
        following.name.isdigit()
        and len(following.name) <= _LONGEST_VERSION
        and not is_common(word.name)
    ):
        return 1
    for joiners in (1, 2):
        end = last + 1 + joiners
        joined = all(t.name in names.joiners and t.gap == " " for t in tokens[last + 1 : end])
        if joined and end < len(tokens) and _can_name(tokens[end]) and tokens[end].gap == " ":
            return joiners + 1
    return 0
