"""The direction of a time, past or future, by the verb: "I went on Friday", "I go on Friday".

No grammar, only the nearest marker in the same clause: enough to choose between the last
Friday and the next one, and silent where it is not.
"""

from __future__ import annotations

from memoranda.text.patterns import LanguageData, LinearMatch
from memoranda.text.terms import lower_in_place

PAST, PRESENT, FUTURE, UNKNOWN = "past", "present", "future", ""

_ENGLISH = LanguageData("en", "tense")
SHARED = LanguageData("mul", "tense")

# Characters before a time, or before a verb, that are read for what they make of it.
_NEAR, _ASIDE = 80, 40


def find_direction(text: str, begin: int, end: int) -> str:
    """Return the direction of the words around ``text[begin:end]``; ``""`` if unclear.

    The nearest verb before the time in its clause decides; where the time opens the clause,
    the first one after it.
    """
    lowered = lower_in_place(text.replace("\u2019", "'"))
    if near_word := _nearest_word(lowered, begin, end):
        return near_word
    hard = [match.end() for match in SHARED.hard.finditer(lowered, 0, begin)]
    first = hard[-1] if hard else 0
    soft = [match.end() for match in SHARED.clause.finditer(lowered, first, begin)]
    stop = SHARED.hard.search(lowered, end)
    before = _markers(lowered, first, begin)
    after = _markers(lowered, end, stop.start() if stop else len(lowered))
    opens = SHARED.lead.fullmatch(lowered, soft[-1] if soft else first, begin) is not None
    for markers, place in ((after, 0), (before, -1)) if opens else ((before, -1), (after, 0)):
        if markers:
            return markers[place]
    return FUTURE if _ENGLISH.order.match(lowered[first:begin]) else UNKNOWN


def _markers(text: str, start: int, end: int) -> list[str]:
    """Return the directions of the markers between two places, in their order."""
    english = _ENGLISH.english.search(text) or not SHARED.markers.search(text)
    pattern = _ENGLISH.markers if english else SHARED.markers
    found = (_direction_of(text, each) for each in pattern.finditer(text, start, end))
    return [each for each in found if each is not None]


def _direction_of(text: str, marker: LinearMatch) -> str | None:
    """Return which way a marker looks; nothing where "-ed" ends no verb: "I'm booked", "a bed"."""
    if marker.lastgroup != "regular":
        return UNKNOWN if marker.lastgroup == "unclear" else marker.lastgroup
    *subject, word = marker[0].split()
    if word in _ENGLISH.words("not_past"):
        return PRESENT if subject else None
    before = max(0, marker.start() - _ASIDE)
    return None if _ENGLISH.participle.search(text, before, marker.start()) else PAST


def is_put(text: str, begin: int) -> bool:
    """Return whether the words before a place put something to a day: "moved to", "set for"."""
    return _ENGLISH.put.search(text, max(0, begin - _NEAR), begin) is not None


def _nearest_word(text: str, begin: int, end: int) -> str:
    """Return what the words right beside a time say, whatever stands around them."""
    if is_put(text, begin) or SHARED.verb_last.match(text, end):
        return PRESENT
    verb = SHARED.copula.search(text, max(0, begin - _NEAR), begin)
    if verb is None:
        return UNKNOWN
    german = verb[0].startswith(("ist", "sind"))
    perfect = SHARED.perfect_german.search(text[end:]) if german else None
    return PAST if perfect and perfect["verb"] not in SHARED.words("planned_german") else PRESENT


def recurs(text: str, *, ahead: bool) -> bool:
    """Return whether a sentence is about something that recurs.

    Args:
        text: the sentence.
        ahead: whether its verb looks ahead, or not back: then a birthday is the next one.
    """
    if ahead and SHARED.recurring_ahead.search(text):
        return True
    return SHARED.recurring.search(text) is not None
