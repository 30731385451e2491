"""How much a clause says, and how far it can be understood without what was said around it."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.learning.extract import words as w
from memoranda.learning.extract.prose import MASK
from memoranda.learning.extract.rewriting import Token, introduces
from memoranda.learning.extract.words import word_set

CUTS = word_set(
    "and but so because 'cause since as while when where which who for with after before "
    "although though or that if then , ( & plus to"
)
"""Words before which a clause may end."""

_TIMES = word_set(
    "week month year morning afternoon evening night weekend summer winter spring autumn fall "
    "monday tuesday wednesday thursday friday saturday sunday january february march april may "
    "june july august september october november december semester quarter term season holiday "
    "christmas coming past upcoming last sprint"
)
_HE = word_set("he he's him his she she's her hers himself herself")
_MANY = word_set("they they're they've them their theirs 'em these those ones")
_DETERMINERS = word_set("a an my our the some another each every their his her its")
_PLURALS = word_set("kids children people friends parents folks family team fam both")
_TAILS = word_set("which and so because as")
_DANGLING = (CUTS - w.PREPOSITIONS) | word_set(
    "a an the my our their its this these is are was were have has had of i we very really just "
    "some any every due"
)
_LINKS = CUTS | w.FILLERS
_BEFORE_THAT = word_set("of in to for with like at on about do did")
_SHORTEST = 3
_NAMED = 0.06
_MOST_NAMED = 0.12


def weigh(words: Sequence[Token], *, lasting: bool) -> tuple[int, float]:
    """Return how many words of ``words`` carry content, and what they add to a score.

    Args:
        words: those of a predicate.
        lasting: whether the kind of statement is of interest even if it is one word:
            ``vegetarian``.
    """
    count, named, judging = 0, 0, 0
    for place, word in enumerate(words):
        following = words[place + 1].low if place + 1 < len(words) else ""
        if word.low in w.EVALUATIVE and (word.low, following) != ("back", "to"):
            judging += 1
        if carries(word):
            count += 1
            named += place > 0 and (not word.text[0].islower() or word.text[0] == MASK)
    bonus = min(_MOST_NAMED, _NAMED * named) - min(0.08, 0.04 * judging)
    if count == 1 and not lasting:
        bonus -= 0.08
    elif count >= _SHORTEST:
        bonus += 0.04
    return count, bonus


def carries(word: Token) -> bool:
    """Return whether ``word`` says something by itself."""
    low = word.low
    if low[0] == MASK or low[0].isdigit():
        return True
    return (
        low[0].isalpha()
        and len(low) >= _SHORTEST
        and low not in w.STOP
        and low not in w.VAGUE
        and low not in w.EVALUATIVE
        and low not in w.LIGHT
        and low not in w.MENTAL
        and low not in w.ADVERBS
    )


def kept_length(words: Sequence[Token], least: int, *, hearer: bool, persons: bool) -> int:
    """Return how many of ``words`` can stand alone; 0 where too few.

    Args:
        words: those of a clause.
        least: how many must stay: subject and verb.
        hearer: whether it is clear who ``you`` is.
        persons: whether ``he`` and ``she`` are clear from the clause's subject.
    """
    end = len(words)
    while True:
        bad = _unclear(words[:end], hearer=hearer, persons=persons)
        if bad is None:
            return _without_tail(words, end, least)
        end = _last_cut(words, bad, least)
        if end <= least:
            return 0


def _unclear(words: Sequence[Token], *, hearer: bool, persons: bool) -> int | None:
    """Return the place of the first word that cannot be understood here."""
    known = _Known(persons=persons)
    for place, word in enumerate(words):
        low = word.low
        following = words[place + 1].low if place + 1 < len(words) else ""
        if low == "following" and place:
            return place
        if low == "similar" and place and words[place - 1].low == "something":
            return place
        if low == "each" and following.startswith("other"):
            return place
        if (low in w.SECOND and not hearer) or (low in w.HYPOTHETICAL and place > 1):
            return place
        points = low in w.PRONOUNS or (low in {"that", "that's"} and _points(words, place))
        if points and not known.explains(low, following):
            return place
        known.see(word, named=place > 0 and word.text[0].isupper() and low != "i")
    return None


class _Known:
    """What a pronoun can stand for, so far in a clause."""

    def __init__(self, *, persons: bool) -> None:
        self.persons = persons
        self.singular = self.plural = False

    def explains(self, low: str, following: str) -> bool:
        """Return whether it is clear what the pronoun ``low`` stands for."""
        if low in {"this", "these", "those"}:
            return following in _TIMES or (low == "this" and introduces([following]))
        if low in _HE:
            return self.persons
        return self.plural if low in _MANY else self.singular

    def see(self, word: Token, *, named: bool) -> None:
        """Take note of a word that brings up one thing, by name or not, or many."""
        low = word.low
        self.singular = self.singular or named or low in _DETERMINERS or low == "this"
        self.plural = self.plural or low in _PLURALS or (len(low) > _SHORTEST and low.endswith("s"))


def _points(words: Sequence[Token], place: int) -> bool:
    """Return whether ``that`` stands for something instead of joining clauses."""
    if words[place].low == "that's" or place + 1 == len(words):
        return True
    before = words[place - 1].low if place else ""
    after = words[place + 1].low
    if before in _BEFORE_THAT or (after in w.VAGUE and not after.endswith("s")):
        return True
    return after in {"is", "was", ",", "."} and before in {"", "and", "but"}


def _last_cut(words: Sequence[Token], bad: int, least: int) -> int:
    for place in range(bad, least - 1, -1):
        if words[place].low in CUTS:
            return _before_links(words, place, least)
    return 0


def _before_links(words: Sequence[Token], place: int, least: int) -> int:
    while place > least and words[place - 1].low in _LINKS:
        place -= 1
    return place


def _without_tail(words: Sequence[Token], end: int, least: int) -> int:
    """Cut a judgement or a word that hangs on: ``, which was great``, ``and``."""
    whole = end == len(words)
    end = _without_known_cause(words, end, least)
    for place in range(end - 1, least, -1):
        low = words[place].low
        empty = low in _TAILS and not any(carries(word) for word in words[place + 1 : end])
        if empty or (place == end - 1 and _hangs(words, place, whole=whole)):
            end = place
    return end


def _without_known_cause(words: Sequence[Token], end: int, least: int) -> int:
    """Cut ``because of the costs`` at the end: which costs was said elsewhere, or never."""
    low = [word.low for word in words[:end]]
    for place in range(max(least, end - 4), end - 2):
        pointing = low[place + 2] in {"the", "that", "this", "these", "those", "it"}
        if low[place : place + 2] in (["because", "of"], ["due", "to"]) and pointing:
            return _before_links(words, place, least)
    return end


def _hangs(words: Sequence[Token], place: int, *, whole: bool) -> bool:
    """Return whether the last word leads to something that is not there."""
    low = words[place].low
    if low == "to":
        return not whole or words[place - 1].low not in {"me", "us"}
    return low in _DANGLING or (low in w.PREPOSITIONS and not whole)
