"""Finds denials: one text says that something never happened which another one reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile

from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflicts.clauses import ParsedClause
from memoranda.learning.parsed_text import ParsedWord, parse_text, stem_set, stems
from memoranda.text.languages import LanguageData, load

_EN = LanguageData("en", "comparison")


_ENOUGH = 0.5
_MOST = 0.75
_MANY = 2
_REACH = 7
"""Words behind a verb among which its object stands."""


def find_denial(old: ParsedClause, new: ParsedClause, *, short: bool) -> Iterator[Verdict]:
    """Yield a verdict where one clause denies what the other one says was done."""
    for denial, other in ((new, old), (old, new)):
        found = _EN.pattern("denied").search(denial.text)
        if found is None or other.negated or (other.wished and not other.asked):
            continue
        if short and (denial.wished or other.tried or _EN.pattern("limited_time").search(found[0])):
            continue
        # What was never done before may well have been done since, if it was done.
        later = denial is old
        if (later and not _EN.pattern("done").search(other.text)) or not (
            short or "never" in found[0].lower()
        ):
            continue
        sure = max((_sure(part, other, short=short) for part in _parts(found["rest"])), default=0.0)
        if not sure:
            continue
        relation = Relation.UPDATE if later else Relation.CONTRADICTION
        yield Verdict(relation, sure, "one says never to have done what the other says was done")


def _presumed(denied: tuple[ParsedWord, ...], other: ParsedClause) -> bool:
    """Return whether a question takes the deed for granted: ``my key obtained in March``."""
    deed = next((word.stem for word in denied if word.text.endswith("ed")), None)
    return any(word.stem == deed and word.text.endswith("ed") for word in other.words)


def _parts(rest: str) -> list[tuple[ParsedWord, ...]]:
    """Return the things that are denied: ``written routes or handled requests`` are two."""
    return [
        parse_text(part).words
        for part in _EN.pattern("either_or").split(_EN.pattern("denied_end").sub("", rest))
        if part.strip()
    ]


def _sure(denied: tuple[ParsedWord, ...], other: ParsedClause, *, short: bool) -> float:
    """Return how surely ``other`` says that it was done."""
    if not denied:
        return 0.0
    verb, things = denied[0], denied[1:]
    kind = _kind(verb)
    wanted = {word.stem: 2.0 if word.name else 1.0 for word in things if _telling(word)}
    if not wanted:
        return 0.0
    if short and not _object(kind, things, other):
        return 0.0
    shared = wanted.keys() & other.content
    share = sum(wanted[stem] for stem in shared) / sum(wanted.values())
    if other.asked and (len(shared) < max(_MANY, len(wanted)) or not _presumed(denied, other)):
        return 0.0
    done = any(_kind(word) == kind for word in other.words)
    many = len(shared) >= _MANY
    if share < (_ENOUGH if done else _MOST) or not (done or (many and not short)):
        return 0.0
    return min(0.95, 0.25 + 0.3 * share + 0.1 * len(shared) + 0.1 * done)


def _kind(word: ParsedWord) -> str:
    return _kinds().get(word.stem, _kinds().get(word.text, word.stem))


@cache
def _kinds() -> Mapping[str, str]:
    """Return the stems and past forms of verbs that mean about the same, by one name for each."""
    data = load("en", "comparison")
    verbs = {verb: kind for kind, listed in data["doings"].items() for verb in listed}
    past = {form: kind for kind, listed in data["past_doings"].items() for form in listed}
    return dict(zip(stems(list(verbs)), verbs.values(), strict=True)) | past


def _object(kind: str, things: Sequence[ParsedWord], other: ParsedClause) -> bool:
    """Return whether a fact has the thing that is denied as the object of such a verb.

    The thing is the last word of the object: ``routes`` in ``any Flask routes for the blog``.
    Who sets up Flask has written none.
    """
    direct = list(takewhile(lambda word: word.text not in _EN.words("parting"), things))
    named = [word.stem for word in direct if _telling(word)]
    thing = named[-1] if named else [word.stem for word in things if _telling(word)][-1]
    for place, word in enumerate(other.words):
        if _kind(word) != kind or _goes_on(other.words, place):
            continue
        behind = other.words[place + 1 : place + 1 + _REACH]
        if named:
            behind = tuple(takewhile(lambda each: each.text not in _EN.words("parting"), behind))
        if any(each.stem == thing for each in behind):
            return True
    return False


def _goes_on(words: tuple[ParsedWord, ...], place: int) -> bool:
    """Return whether a verb tells what is under way, or names a doing: it is not done yet."""
    before = {word.text for word in words[max(place - 2, 0) : place]}
    going = words[place].text.endswith("ing") and "been" not in before
    return going and (not place or bool(before & {"is", "are", "am", "m", "s"}))


def _telling(word: ParsedWord) -> bool:
    return word.text not in _EN.words("stop_words") and word.stem not in stem_set("vague")
