"""From a sentence to its clauses, and how much of each can be understood by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memoranda.learning.extraction.rewriting import ClauseToken, is_mere_article
from memoranda.learning.extraction.sentences import MASK, Sentence
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "extraction")


CLAUSE_LIMIT = 320
"""A clause of more characters is cut there: nobody speaks so."""

_LONGEST_ADJUNCT = 7
_EDGE = " \t,;:.!?-–—…*_\"'()~"


class Clause(NamedTuple):
    """A part of a sentence.

    Attributes:
        shown: its text, masked as in the sentence, without what leads into it.
        start: where it begins in the turn.
        asks: whether it is a question or a request.
        link: what joins it to the part before, in lower case: ``and``, ``but``, ``,``.
    """

    shown: str
    start: int
    asks: bool
    link: str


def split_clauses(sentence: Sentence, names: frozenset[str]) -> Iterator[Clause]:
    """Yield the clauses of ``sentence``.

    Args:
        sentence: where they stand.
        names: those spoken to, whose names may lead into a clause or end it.
    """
    parts = list(_parts(sentence.shown))
    asking = [_is_asking(sentence.shown[start:end]) for start, end, _ in parts]
    if sentence.question and not any(asking):
        asking[-1] = True
    for (start, end, link), asks in zip(parts, asking, strict=True):
        begin, stop = _trimmed(sentence.shown, start, end, names)
        if stop > begin:
            shown = sentence.shown[begin:stop]
            yield Clause(shown, sentence.start + begin, asks, link)


def _parts(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield begin, end and link of each part; no cut inside a subordinate clause that leads."""
    begin, link, held = 0, "", False
    for found in _EN.pattern("clause_boundary", 0).finditer(text):
        subordinate = _EN.pattern("subordinate_opening").match(text, begin, found.start())
        leads = subordinate or _is_adjunct(text[begin : found.start()])
        if leads and not held and found[0].lstrip().startswith(","):
            held = True
            continue
        if found[0].strip() == "and" and _EN.pattern("companions", 0).fullmatch(
            text, begin, found.start()
        ):
            continue
        if found.start() > begin:
            yield begin, min(found.start(), begin + CLAUSE_LIMIT), link
        begin, link, held = found.end(), found[0].strip().lower(), False
    if begin < len(text):
        yield begin, min(len(text), begin + CLAUSE_LIMIT), link


def _is_adjunct(part: str) -> bool:
    """Return whether ``part`` only says when or where: ``Last week``, ``In the meantime``."""
    lead = _EN.pattern("lead_in").match(part)
    words = part[lead.end() if lead else 0 :].lower().split()
    if not 0 < len(words) <= _LONGEST_ADJUNCT or _EN.words("auxiliaries").intersection(words):
        return False
    return words[0].strip(_EDGE) in _EN.words("adjuncts")


def _is_asking(part: str) -> bool:
    lead = _EN.pattern("lead_in").match(part)
    words = part[lead.end() if lead else 0 :].split(maxsplit=2)
    if not words:
        return False
    first = words[0].strip(_EDGE).lower()
    if first in {"when", "while", "where"}:
        return "?" in part
    if first == "may" and words[1:] and words[1][0].isdigit():
        return False
    return first in _EN.words("interrogatives")


def _trimmed(text: str, start: int, end: int, names: frozenset[str]) -> tuple[int, int]:
    """Return the clause without greetings, connectives and the names of those spoken to."""
    while True:
        lead = _EN.pattern("lead_in").match(text, start, end)
        begin = lead.end() if lead else start
        while begin < end and text[begin] in _EDGE:
            begin += 1
        begin = _past_name(text, begin, end, names)
        if begin == start:
            break
        start = begin
    while end > start and text[end - 1] in _EDGE and text[end - 1] != MASK:
        end -= 1
    comma = text.rfind(",", start, end)
    if comma > start and _is_name(text[comma + 1 : end].strip(), names):
        end = comma
    return start, end


def _past_name(text: str, begin: int, end: int, names: frozenset[str]) -> int:
    stop = begin
    while stop < end and text[stop].isalpha():
        stop += 1
    if not _is_name(text[begin:stop], names) or text[stop : min(stop + 1, end)] not in {",", "!"}:
        return begin
    return stop + 1


_SHORTEST_NAME = 3


def _is_name(word: str, names: frozenset[str]) -> bool:
    """Return whether ``word`` is one of the names or the start of one (Mel, Melanie)."""
    if len(word) < _SHORTEST_NAME or not word[0].isupper():
        return False
    return any(name.startswith(word) or word.startswith(name) for name in names)


_SHORTEST = 3
_NAMED = 0.06
_MOST_NAMED = 0.12


def weigh_words(words: Sequence[ClauseToken], *, lasting: bool) -> tuple[int, float]:
    """Return how many words of ``words`` carry content, and what they add to a score.

    Args:
        words: those of a predicate.
        lasting: whether the kind of statement is of interest even if it is one word:
            ``vegetarian``.
    """
    count, named, judging = 0, 0, 0
    for place, word in enumerate(words):
        following = words[place + 1].low if place + 1 < len(words) else ""
        if word.low in _EN.words("evaluative") and (word.low, following) != ("back", "to"):
            judging += 1
        if carries_content(word):
            count += 1
            named += place > 0 and (not word.text[0].islower() or word.text[0] == MASK)
    bonus = min(_MOST_NAMED, _NAMED * named) - min(0.08, 0.04 * judging)
    if count == 1 and not lasting:
        bonus -= 0.08
    elif count >= _SHORTEST:
        bonus += 0.04
    return count, bonus


def carries_content(word: ClauseToken) -> bool:
    """Return whether ``word`` says something by itself."""
    low = word.low
    if low[0] == MASK or low[0].isdigit():
        return True
    empty = low in _EN.words("stop", "vague", "evaluative", "light", "mental", "adverbs")
    return low[0].isalpha() and len(low) >= _SHORTEST and not empty


def measure_kept(words: Sequence[ClauseToken], least: int, *, hearer: bool, persons: bool) -> int:
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


def _unclear(words: Sequence[ClauseToken], *, hearer: bool, persons: bool) -> int | None:
    """Return the place of the first word that cannot be understood here."""
    known = _Antecedents(persons=persons)
    for place, word in enumerate(words):
        low = word.low
        following = words[place + 1].low if place + 1 < len(words) else ""
        if low == "following" and place:
            return place
        if low == "similar" and place and words[place - 1].low == "something":
            return place
        if low == "each" and following.startswith("other"):
            return place
        if (low in _EN.words("second") and not hearer) or (
            low in _EN.words("hypothetical") and place > 1
        ):
            return place
        points = low in _EN.words("pronouns") or (
            low in {"that", "that's"} and _points(words, place)
        )
        if points and not known.explains(low, following):
            return place
        known.see(word, named=place > 0 and word.text[0].isupper() and low != "i")
    return None


class _Antecedents:
    """What a pronoun can stand for, so far in a clause."""

    def __init__(self, *, persons: bool) -> None:
        self.persons = persons
        self.singular = self.plural = False

    def explains(self, low: str, following: str) -> bool:
        """Return whether it is clear what the pronoun ``low`` stands for."""
        if low in {"this", "these", "those"}:
            return following in _EN.words("calendar_units") or (
                low == "this" and is_mere_article([following])
            )
        if low in _EN.words("he_and_she"):
            return self.persons
        return self.plural if low in _EN.words("they") else self.singular

    def see(self, word: ClauseToken, *, named: bool) -> None:
        """Take note of a word that brings up one thing, by name or not, or many."""
        low = word.low
        self.singular = self.singular or named or low in _EN.words("determiners") or low == "this"
        plural = low in _EN.words("plural_nouns") or (len(low) > _SHORTEST and low[-1] == "s")
        self.plural = self.plural or plural


def _points(words: Sequence[ClauseToken], place: int) -> bool:
    """Return whether ``that`` stands for something instead of joining clauses."""
    if words[place].low == "that's" or place + 1 == len(words):
        return True
    before = words[place - 1].low if place else ""
    after = words[place + 1].low
    if before in _EN.words("before_that") or (
        after in _EN.words("vague") and not after.endswith("s")
    ):
        return True
    return after in {"is", "was", ",", "."} and before in {"", "and", "but"}


def _last_cut(words: Sequence[ClauseToken], bad: int, least: int) -> int:
    for place in range(bad, least - 1, -1):
        if words[place].low in _EN.words("clause_ends"):
            return _before_links(words, place, least)
    return 0


def _before_links(words: Sequence[ClauseToken], place: int, least: int) -> int:
    while place > least and words[place - 1].low in _EN.words("links"):
        place -= 1
    return place


def _without_tail(words: Sequence[ClauseToken], end: int, least: int) -> int:
    """Cut a judgement or a word that hangs on: ``, which was great``, ``and``."""
    whole = end == len(words)
    end = _without_known_cause(words, end, least)
    for place in range(end - 1, least, -1):
        low = words[place].low
        empty = low in _EN.words("tail_openings") and not any(
            carries_content(word) for word in words[place + 1 : end]
        )
        if empty or (place == end - 1 and _hangs(words, place, whole=whole)):
            end = place
    return end


def _without_known_cause(words: Sequence[ClauseToken], end: int, least: int) -> int:
    """Cut ``because of the costs`` at the end: which costs was said elsewhere, or never."""
    low = [word.low for word in words[:end]]
    for place in range(max(least, end - 4), end - 2):
        pointing = low[place + 2] in {"the", "that", "this", "these", "those", "it"}
        if low[place : place + 2] in (["because", "of"], ["due", "to"]) and pointing:
            return _before_links(words, place, least)
    return end


def _hangs(words: Sequence[ClauseToken], place: int, *, whole: bool) -> bool:
    """Return whether the last word leads to something that is not there."""
    low = words[place].low
    if low == "to":
        return not whole or words[place - 1].low not in {"me", "us"}
    return low in _EN.words("dangling") or (low in _EN.words("prepositions") and not whole)
