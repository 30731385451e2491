"""Statements that are kept as they were said: which sentences will matter, and how they stand.

No rule reads what they say. A sentence is picked by what can be counted in it, with the weights of
``mul/statements.toml``; it is kept as a quotation with who said it and when.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache

from memoranda.facts.language import EDGE, bare_words, language_of, languages_in
from memoranda.facts.reader import fits_any
from memoranda.text.dates.statements import write_day
from memoranda.text.patterns import load
from memoranda.text.small_talk import states_nothing

# Content words of a sentence beyond which more tell no more, and the fewest that state something.
_MOST_WORDS, _LEAST_CONTENT = 12, 2
# Content words of a sentence in which only the first words, so many, leave open what it states.
_LONG, _HEAD = 4, 6
# Letters of a word in a script without spaces.
_LETTERS = 3
_LEAST_WORDS = 3
_LEAST_LETTERS = 6
# Marks with which a sentence may end.
_ENDS = '.!?"\u2026\u3002\uff01\uff1f'


def weigh_statement(sentence: str, *, dated: bool, among_people: bool) -> float:
    """Return how likely a sentence tells what will be asked for later, as a logit.

    Counted are ``content``, words that are no function words, up to a limit, as a share of it;
    ``short``, whether there are fewer than two of these; ``own``, whether it speaks of its
    speaker ("I", "my"); ``number``, ``name`` and ``date``, whether it holds a figure, holds a name
    within, tells a time; ``hearer``, whether it speaks to whoever listens; ``pointing``, whether
    it points at what was said before ("that", "she"); ``unsettled``, whether it begins with what
    somebody only thinks, feels or would do; ``momentary``, whether it only tells of the moment.

    Args:
        sentence: as it was said, without what is quoted in it.
        dated: whether it tells a time.
        among_people: whether it is said to other people, not to an assistant.
    """
    code = languages_in(sentence)[0]
    language = language_of(code)
    given = sentence.replace("\u2019", "'").split()
    words = [word for each in given if (word := each.strip(EDGE))]
    low = [part for word in words for part in word.casefold().split("'")]
    small = language.function_words | language.words["openings"]
    content = [word for word in words if word.casefold().partition("'")[0] not in small]
    length = len(sentence) / _LETTERS if language.unspaced else len(content)
    head = low if len(content) < _LONG else low[:_HEAD]
    own = _list("own", code)
    named = any(word[0].isupper() and word.casefold() not in own for word in words[1:])
    counted = {
        "content": min(length, _MOST_WORDS) / _MOST_WORDS,
        "short": length < _LEAST_CONTENT,
        "own": speaks_of_speaker(sentence),
        "number": any(char.isdigit() for char in sentence),
        "name": named,
        "date": dated,
        "hearer": any(word in _list("hearer", code) for word in low),
        "pointing": any(word in _list("pointing", code) for word in head)
        or (not named and any(word in _list("persons", code) for word in head))
        or any(word in _list("pointing_at_ends", code) for word in (*low[:1], *low[-1:])),
        "unsettled": any(word in _list("unsettled", code) for word in head),
        "momentary": fits_any("momentary", sentence),
    }
    kind = "people" if among_people else "assistant"
    weights: Mapping[str, float] = load("mul", "statements")[kind]
    return weights["bias"] + sum(weights[name] * value for name, value in counted.items())


def speaks_of_speaker(text: str) -> bool:
    """Return whether a text has a word for its speaker, such as "I" or "my"."""
    code = languages_in(text)[0]
    words = (word.partition("'")[0] for word in bare_words(text))
    own = _list("own", code)
    return not own.isdisjoint(words) or any(each in text for each in own if not each.isascii())


def may_state(sentence: str) -> bool:
    """Return whether a sentence may state something that lasts."""
    words = sentence.split()
    short = len(words) < _LEAST_WORDS and (sentence.isascii() or len(sentence) < _LEAST_LETTERS)
    return not (short or states_nothing(sentence))


def quote(sentence: str, speaker: str, at: datetime) -> str:
    """Return a sentence as a quotation with who said it and when.

    Args:
        sentence: as it was said.
        speaker: their name; empty for the user, whom each language names in its own words.
        at: when.
    """
    said = sentence.strip().rstrip(",;:-\u2013 ").translate({0x201C: '"', 0x201D: '"'})
    said = said if said[-1:] in _ENDS else f"{said}."
    code = languages_in(sentence)[0]
    date = write_day(at, english=code == "en")
    who = speaker or load(code, "facts")["words"]["user"]
    return f"\u201c{said[:1].upper()}{said[1:]}\u201d ({who}, {date})"


@cache
def _list(name: str, code: str) -> frozenset[str]:
    """Return a list of words of a language."""
    lists: Mapping[str, Mapping[str, tuple[str, ...]]] = load("mul", "statements")["words"]
    return frozenset(lists[name].get(code, ()))
