"""The direction of a time, past or future, by the verb: "I went on Friday", "I go on Friday".

No grammar, only the nearest marker in the same clause: enough to choose between the last
Friday and the next one, and silent where it is not.
"""

from __future__ import annotations

from memoranda.text.linear_patterns import LinearMatch
from memoranda.text.patterns import LanguageData
from memoranda.text.terms import lower_in_place

PAST, PRESENT, FUTURE, UNKNOWN = "past", "present", "future", ""

_ENGLISH = LanguageData("en", "tense")
_SHARED = LanguageData("mul", "tense")

_NEAR = 80
_ASIDE = 40
# "It was pushed to June 8" tells of what was decided, about a day to come. What "had been moved"
# may be over as well.
# "I signed up for the marathon on 18 October": done by now, for a day to come.
# "Mi boda es el 12 de septiembre": the verb and the day with nothing between them.


def _markers(text: str, start: int, end: int) -> list[str]:
    """Return the directions of the markers between two places, in their order."""
    perfect = [match.span() for match in _ENGLISH.perfect.finditer(text, start, end)]
    english = _ENGLISH.english.search(text) or not _SHARED.markers.search(text)
    pattern = _ENGLISH.markers if english else _SHARED.markers
    found = []
    for match in pattern.finditer(text, start, end):
        inside = any(since <= match.start() < until for since, until in perfect)
        direction = PAST if inside else _direction_of(text, match)
        if direction is not None:
            found.append(direction)
    return found


def _direction_of(text: str, match: LinearMatch) -> str | None:
    """Return which way a marker looks; nothing if it is none after all."""
    direction, word = match.lastgroup or UNKNOWN, match[0]
    before = max(0, match.start() - _ASIDE)
    if direction == "regular":
        adjective = _ENGLISH.participle.search(text, before, match.start())
        found = _ENGLISH.causative.search(text, before, match.start())
        caused = found and _ENGLISH.caused.search(found[0]) and not _ENGLISH.apart.search(found[0])
        return None if word in _ENGLISH.words("not_past") or adjective or caused else PAST
    if word in _ENGLISH.words("bare") and _ENGLISH.before_bare.search(text, before, match.start()):
        return None
    if word == "got":
        has = _ENGLISH.possesses.search(text, max(0, match.start() - 8), match.start())
        ready = _ENGLISH.got_ready.match(text, match.start())
        return PRESENT if has else None if ready else PAST
    if direction == PRESENT and word.endswith("'s") and word[:-2] not in _ENGLISH.words("said_of"):
        follows = _ENGLISH.follows_is.match(text, match.end())
        return PRESENT if follows and follows["verb"] not in _ENGLISH.words("things") else None
    return _behind_subject(word.split()[-1]) if direction == PRESENT and " " in word else direction


def _behind_subject(verb: str) -> str | None:
    """Return which way a word behind "we" looks; nothing if it is no verb."""
    if verb in _ENGLISH.words("not_verbs"):
        return None
    regular = verb.endswith("ed") and verb not in _ENGLISH.words("not_past")
    return PAST if regular or verb in _ENGLISH.words("past_forms") else PRESENT


def is_moved(text: str, begin: int) -> bool:
    """Return whether the words before ``begin`` say that something was put to another time."""
    match = _ENGLISH.moved.search(text, max(0, begin - _NEAR), begin)
    if match is None or text[: match.start()].lower().endswith(("had ", "had been ")):
        return False
    verb = match[0].lower()
    if _ENGLISH.brought.search(verb) and not _ENGLISH.away.search(verb):
        return False
    before_to = verb[: match.start("to") - match.start()].rsplit(maxsplit=1)[-1]
    if match["to"] and before_to in _ENGLISH.words("no_move"):
        return False
    return not _is_from(match) or _ENGLISH.onward.search(text, begin, begin + _NEAR) is not None


def is_moved_from(text: str, begin: int) -> bool:
    """Return whether ``begin`` opens "3 May to 8 May" after "moved from": two days, no stretch."""
    match = _ENGLISH.moved.search(text, max(0, begin - _NEAR), begin)
    return match is not None and _is_from(match) and is_moved(text, begin)


def _is_from(match: LinearMatch) -> bool:
    return (match["to"] or "").lower() == "from"


def _nearest_word(text: str, begin: int, end: int) -> str:
    """Return what the words right before a time say, whatever stands around them."""
    if is_moved(text, begin):
        return FUTURE
    words = text[max(0, begin - _NEAR) : begin]
    if _ENGLISH.planned.search(words):
        return PRESENT
    if _ENGLISH.expires.search(words) or _ENGLISH.arranged.search(words):
        return FUTURE
    if _SHARED.verb_last.match(text, end):
        return PRESENT
    verb = _SHARED.copula.search(text, max(0, begin - _NEAR), begin)
    if verb is None:
        return UNKNOWN
    german = verb[0].startswith(("ist", "sind"))
    perfect = _SHARED.perfect_german.search(text[end:]) if german else None
    return PAST if perfect and perfect["verb"] not in _SHARED.words("planned_german") else PRESENT


def find_direction(text: str, begin: int, end: int) -> str:
    """Return the direction of the words around ``text[begin:end]``; ``""`` if unclear.

    The nearest verb before the time in its clause decides; where the time opens the clause,
    the first one after it.
    """
    lowered = lower_in_place(text.replace("\u2019", "'"))
    if near_word := _nearest_word(lowered, begin, end):
        return near_word
    hard = [match.end() for match in _SHARED.hard.finditer(lowered, 0, begin)]
    first = hard[-1] if hard else 0
    soft = [match.end() for match in _SHARED.clause.finditer(lowered, first, begin)]
    near = soft[-1] if soft else first
    stop = _SHARED.hard.search(lowered, end)
    last = stop.start() if stop else len(lowered)
    before = _markers(lowered, first, begin)
    after = _markers(lowered, end, last)
    opens = _SHARED.lead.fullmatch(lowered, near, begin) is not None
    for markers, place in ((after, 0), (before, -1)) if opens else ((before, -1), (after, 0)):
        if markers:
            return markers[place]
    return FUTURE if _ENGLISH.order.match(lowered[first:begin]) else UNKNOWN


def is_of_a_day(text: str) -> bool:
    """Return whether "in two weeks" is when something is, and not how long it takes."""
    return _ENGLISH.takes_time.search(text) is None


def is_of_a_life(text: str) -> bool:
    """Return whether a sentence tells what is still told years later: a death, a wedding."""
    return bool(_ENGLISH.of_a_life.search(text) or _SHARED.of_a_life.search(text))


def recurs(text: str, *, ahead: bool) -> bool:
    """Return whether a sentence is about something that recurs.

    Args:
        text: the sentence.
        ahead: whether its verb looks ahead, or not back: then a birthday is the next one.
    """
    return bool(
        _SHARED.habit.search(text)
        or (ahead and _SHARED.monthly.search(text))
        or _SHARED.born.search(text)
        or _SHARED.birthday_of_others.search(text)
        or (ahead and _SHARED.birthday.search(text))
    )
