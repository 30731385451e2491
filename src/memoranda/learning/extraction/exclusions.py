"""What never becomes a fact: orders to the assistant, jokes, and what a conversation takes back.

A person may say that something is not to be kept, that it was not true, or that somebody else
speaks in it. That stands in another sentence or message than what it is about, so a conversation
is looked at as a whole, before anything is read. What is excluded is broken off in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.sentences import TEXT_LIMIT, Sentence, split_sentences
from memoranda.learning.parsed_text import stems
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern
from memoranda.text.secrets import tells_secret

_EN = LanguageData("en", "extraction")
_BREAK = "\n"
_MOST = 8
"""So many things one turn takes back: each is looked for in all that its speaker said."""
_PLAYS = compile_pattern(r"role", re.IGNORECASE)
_STOP = compile_pattern(r"[.!?\n]")
_WORD = compile_pattern(r"[^\W_]+(?:['-][^\W_]+)*")


def blank_exclusions(turns: Sequence[Turn]) -> list[Turn]:
    """Return ``turns`` with excluded parts blanked out, everything else at the same positions.

    That is: a turn said in confidence, and what is answered to it; one that its speaker takes
    back in the next; a statement that is asked to be forgotten or turns out made up; and what is
    said in a role, until the role or the conversation ends.
    """
    texts = [turn.text for turn in turns]
    roles: set[str] = set()
    silent = False
    for at, turn in enumerate(turns):
        if not turn.person:
            if silent:
                texts[at] = _blank(texts[at])
            continue
        said = _plain(turn.text[:TEXT_LIMIT])
        unsaid = _fits(_EN.pattern("unsaid"), _EN.words("unsaying_cues"), said)
        if unsaid:
            _unsay(turns, texts, at)
        silent = unsaid or _fits(_EN.pattern("confided"), _EN.words("confiding_cues"), said)
        if silent:
            texts[at] = _blank(texts[at])
            continue
        _forget(turns, texts, at, said)
        _retract(turns, texts, at, said)
        _leave_role(turn, texts, at, roles, said)
    return [
        turn if turn.text == text else replace(turn, text=text)
        for turn, text in zip(turns, texts, strict=True)
    ]


def _plain(text: str) -> str:
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _fits(pattern: re.Pattern[str], cues: frozenset[str], said: str) -> bool:
    low = said.lower()
    return any(cue in low for cue in cues) and pattern.search(said) is not None


def _blank(text: str) -> str:
    return _BREAK * len(text)


def _cut(text: str, start: int, end: int) -> str:
    return text[:start] + _BREAK * (end - start) + text[end:]


def _before(turns: Sequence[Turn], at: int) -> int | None:
    """Return the place of the turn that the speaker of ``at`` said before it."""
    speaker = turns[at].speaker
    return next((n for n in range(at - 1, -1, -1) if turns[n].speaker == speaker), None)


def _unsay(turns: Sequence[Turn], texts: list[str], at: int) -> None:
    """Withhold the turn before and what was answered to it."""
    before = _before(turns, at)
    if before is None:
        return
    texts[before] = _blank(texts[before])
    for place in range(before + 1, at):
        if not turns[place].person:
            texts[place] = _blank(texts[place])


def _forget(turns: Sequence[Turn], texts: list[str], at: int, said: str) -> None:
    """Withhold ``Please forget that I'm vegetarian`` and what it names."""
    if "forget" not in said.lower() and "remember" not in said.lower():
        return
    asked = (
        (each, _EN.pattern("forget_request").match(each.shown))
        for each in split_sentences(texts[at])
    )
    matched = [(each, found) for each, found in asked if found is not None]
    for sentence, _ in matched:
        texts[at] = _cut(texts[at], sentence.start, sentence.start + len(sentence.shown))
    for sentence, found in matched[:_MOST]:
        _withdraw(turns, texts, at, sentence.shown[found.end() :])


def _retract(turns: Sequence[Turn], texts: list[str], at: int, said: str) -> None:
    """Withhold what ``I just made that up, I don't work at Siemens`` is about."""
    mark = _EN.pattern("untrue").search(said)
    if mark is None or _EN.pattern("no_retraction").search(said):
        return
    found = islice(_EN.pattern("denies").finditer(said), _MOST)
    denied = [each["i"] or each["am"] for each in found]
    if sum(_withdraw(turns, texts, at, each) for each in denied):
        return
    here = list(split_sentences(texts[at]))
    ahead = [each for each in here if _end(each) <= mark.start()]
    if any(_key(each.shown)[1] for each in ahead):
        for each in ahead:
            texts[at] = _cut(texts[at], each.start, _end(each))
    elif (before := _before(turns, at)) is not None:
        texts[before] = _blank(texts[before])


def _end(sentence: Sentence) -> int:
    return sentence.start + len(sentence.shown)


def _withdraw(turns: Sequence[Turn], texts: list[str], at: int, denied: str) -> bool:
    """Withhold what the speaker said up to ``at`` that holds all that is denied."""
    names, key = _key(denied)
    wanted = names or key
    if not wanted:
        return False
    done = False
    for place in range(at + 1):
        if turns[place].speaker != turns[at].speaker:
            continue
        for start, end in list(_holding(texts[place], wanted)):
            texts[place] = _cut(texts[place], start, end)
            done = True
    return done


def _holding(text: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield where sentences stand that hold all the stems ``wanted`` and deny nothing."""
    for sentence in split_sentences(text):
        raw = text[sentence.start : _end(sentence)]
        denies = _EN.pattern("denies").search(_plain(raw)) or _EN.pattern("untrue").search(
            _plain(raw)
        )
        if not denies and wanted <= _key(raw)[1]:
            yield sentence.start, _end(sentence)


def _key(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the names in ``text``, and of all its words that tell anything."""
    words = [
        found[0]
        for found in _WORD.finditer(_plain(text))
        if found[0].lower() not in _EN.words("idle")
    ]
    stemmed = stems([word.lower().removesuffix("'s") for word in words])
    names = frozenset(stem for word, stem in zip(words, stemmed, strict=True) if word[0].isupper())
    return names, frozenset(stemmed)


def _leave_role(turn: Turn, texts: list[str], at: int, roles: set[str], said: str) -> None:
    """Withhold what is said in a role; a request to play one stays, up to where it begins."""
    place = 0
    if turn.speaker in roles:
        ended = _EN.pattern("role_ends").search(said)
        if ended is None:
            texts[at] = _blank(texts[at])
            return
        roles.discard(turn.speaker)
        place = ended.end()
        texts[at] = _cut(texts[at], 0, place)
    if not any(cue in said.lower() for cue in _EN.words("role_cues")):
        return
    begun = _EN.pattern("role_begins").search(said, place)
    if begun is not None:
        roles.add(turn.speaker)
        role = _PLAYS.search(begun[0]) is None
        end = _STOP.search(said, begun.end()) if role else None
        start = (end.start() if end else len(said)) if role else begun.start()
        texts[at] = _cut(texts[at], start, len(texts[at]))


def is_refused(text: str) -> bool:
    """Return whether ``text`` must not be kept, whatever it says."""
    return tells_secret(text) or is_order(text)


def is_joke(text: str) -> bool:
    """Return whether ``text`` says that it is a joke or not meant seriously."""
    return _EN.pattern("joke").search(text) is not None


def is_order(text: str) -> bool:
    """Return whether ``text`` tells the assistant how to behave."""
    return _EN.pattern("order").search(text) is not None


def is_injection(text: str) -> bool:
    """Return whether ``text`` would override what the assistant goes by, now or by memory.

    Narrower than :func:`is_order`: ``you should come over`` is an order by its form alone.
    """
    return _EN.pattern("injection").search(text) is not None or (
        _EN.pattern("keep_request").search(text) is not None and is_order(text)
    )
