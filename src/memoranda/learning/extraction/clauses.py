"""From a sentence to its clauses, and how much of each can be understood by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from memoranda.facts.forms import compile_form
from memoranda.learning.extraction.rewriting import ClauseToken
from memoranda.learning.extraction.sentences import MASK, TurnPart
from memoranda.learning.verbs import is_finite
from memoranda.text.patterns import LanguageData

_EN = LanguageData("en", "extraction")


# A clause of more characters is cut there: nobody speaks so.
CLAUSE_LIMIT = 320

_LONGEST_ADJUNCT = 7
_LONGEST_LIST = 10
_SUMS_UP = frozenset({"-", "--", "–", "—", ":"})
_SHORTEST = 3
_NAMED = 0.06
_MOST_NAMED = 0.12
_EDGE = " \t,;:.!?-–—…*_\"'()~"


def split_clauses(sentence: TurnPart, names: frozenset[str]) -> Iterator[TurnPart]:
    """Yield the clauses of ``sentence``, without what leads into them.

    Args:
        sentence: where they stand.
        names: those spoken to, whose names may lead into a clause or end it.
    """
    parts = list(_parts(sentence.shown))
    if sentence.question:
        parts = [part for whole in parts for part in _part_question(sentence.shown, *whole)]
    asking = [_is_asking(sentence.shown[start:end]) for start, end in parts]
    if sentence.question and not any(asking):
        asking[-1] = True
    for (start, end), asks in zip(parts, asking, strict=True):
        begin, stop = _trimmed(sentence.shown, start, end, names)
        if stop > begin:
            shown = sentence.shown[begin:stop]
            yield TurnPart(shown, sentence.start + begin, asks)


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each part; no cut inside a subordinate clause that leads."""
    begin, held = 0, False
    ends = list(_EN.pattern("clause_boundary", 0).finditer(text))
    for found, after in zip_longest(ends, ends[1:]):
        subordinate = _EN.pattern("subordinate_opening").match(text, begin, found.start())
        leads = subordinate or _is_adjunct(text[begin : found.start()])
        if leads and not held and found[0].lstrip().startswith(","):
            held = True
            continue
        companions = _EN.pattern("companions", 0).fullmatch(text, begin, found.start())
        if found[0].strip() == "and" and (leads or companions):
            continue
        sums_up = found[0].strip() in _SUMS_UP and text[: found.start()].endswith("s")
        if sums_up and _is_list(text[found.end() : after.start() if after else len(text)]):
            continue
        if found.start() > begin:
            yield begin, min(found.start(), begin + CLAUSE_LIMIT)
        begin, held = found.end(), False
    if begin < len(text):
        yield begin, min(len(text), begin + CLAUSE_LIMIT)


def _part_question(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what a part of a question states before it asks, and the rest: ``I'm vegan, is …?``."""
    found = compile_form(_EN.source("question_boundary")).search(text[start:end])
    gap = next((at for at in map(found.span, (1, 2, 3)) if at[1] >= 0), None) if found else None
    if gap is None or _is_asking(text[start : start + gap[0]]):
        yield start, end
        return
    yield start, start + gap[0]
    yield start + gap[1], end


def _is_list(part: str) -> bool:
    """Return whether ``part`` tells what was summed up before: ``two pets - a cat and a dog``."""
    words = [word.strip(_EDGE) for word in part.lower().split()]
    if not 1 < len(words) <= _LONGEST_LIST:
        return False
    joined = "and" in words[1:-1] or "," in part.strip(_EDGE)
    opens = words[0] in _EN.words("evaluative", "adverbs", "links", "asking_words")
    unlisted = ("pronouns", "second", "auxiliaries", "modals", "own_subjects", "mental")
    told = any(word in _EN.words(*unlisted) or is_finite(word) for word in words)
    return joined and not opens and not told


def _words_after_lead(part: str) -> list[str]:
    lead = _EN.pattern("lead_in").match(part)
    return part[lead.end() if lead else 0 :].lower().split()


def _is_adjunct(part: str) -> bool:
    """Return whether ``part`` only says when or where: ``Last week``, ``In the meantime``."""
    words = _words_after_lead(part)
    if not 0 < len(words) <= _LONGEST_ADJUNCT or _EN.words("auxiliaries").intersection(words):
        return False
    return words[0].strip(_EDGE) in _EN.words("adjuncts")


def _is_asking(part: str) -> bool:
    words = _words_after_lead(part)
    first = words[0].strip(_EDGE) if words else ""
    if "?" not in part and tells_without_subject(words):
        return False
    if first in {"when", "while", "where"}:
        return "?" in part
    dated = first == "may" and words[1:] and words[1][0].isdigit()
    return not dated and first in _EN.words("interrogatives")


def tells_without_subject(low: Sequence[str]) -> bool:
    """Return whether words that might ask leave out "I": ``had my knee done``, ``can't swim``."""
    if len(low) < _SHORTEST - 1:
        return False
    if low[0] == "had" and low[1] in _EN.words("determiners"):
        return True
    telling = low[0] in _EN.words("elided_denials") or low[0] in {"had", "have"}
    return telling and low[1] not in _EN.words("asked")


def _trimmed(text: str, start: int, end: int, names: frozenset[str]) -> tuple[int, int]:
    """Return the clause without greetings, connectives and the names of those spoken to."""
    while True:
        lead = _EN.pattern("lead_in").match(text, start, end)
        begin = lead.end() if lead else start
        begin = end - len(text[begin:end].lstrip(_EDGE))
        stop = begin
        while stop < end and text[stop].isalpha():
            stop += 1
        if stop < end and text[stop] in ",!" and _is_name(text[begin:stop], names):
            begin = stop + 1
        if begin == start:
            break
        start = begin
    end = start + len(text[start:end].rstrip(_EDGE))
    comma = text.rfind(",", start, end)
    if comma > start and _is_name(text[comma + 1 : end].strip(), names):
        end = comma
    return start, end


def _is_name(word: str, names: frozenset[str]) -> bool:
    """Return whether ``word`` is one of the names or the start of one (Mel, Melanie)."""
    if len(word) < _SHORTEST or not word[0].isupper():
        return False
    return any(name.startswith(word) or word.startswith(name) for name in names)


def weigh_words(words: Sequence[ClauseToken], *, lasting: bool) -> tuple[int, float]:
    """Return how many words of ``words`` carry content, and what they add to a score.

    Args:
        words: those of a predicate.
        lasting: whether the kind of statement is of interest even if it is one word:
            ``vegetarian``.
    """
    told = [
        (place, word)
        for place, word in enumerate(words)
        if carries_content(word) or _is_thing(words, place)
    ]
    named = sum(
        place > 0 and (not word.text[0].islower() or word.text[0] == MASK) for place, word in told
    )
    low = [word.low for word in words]
    judging = sum(
        each in _EN.words("evaluative") and low[place : place + 2] != ["back", "to"]
        for place, each in enumerate(low)
    )
    bonus = min(_MOST_NAMED, _NAMED * named) - min(0.08, 0.04 * judging)
    if len(told) == 1 and not lasting:
        bonus -= 0.08 if _EN.words("some").isdisjoint(low) else 0.12
    elif len(told) >= _SHORTEST:
        bonus += 0.04
    return len(told), bonus


def carries_content(word: ClauseToken) -> bool:
    """Return whether ``word`` says something by itself."""
    low = word.low
    if low[0] == MASK or low[0].isdigit():
        return True
    if len(low) < _SHORTEST and word.text.isupper() and low not in _EN.words("stop", "modals"):
        return low.isalpha() and len(low) > 1  # "TV", "HR"
    empty = low in _EN.words("stop", "vague", "evaluative", "light", "mental", "adverbs")
    return low[0].isalpha() and len(low) >= _SHORTEST and not empty


def _is_thing(words: Sequence[ClauseToken], place: int) -> bool:
    """Return whether a word that may be a verb of the mind is one's own: ``my notice``."""
    own = place > 0 and words[place - 1].low in {"my", "our"}
    return own and words[place].low in _EN.words("mental")


def measure_kept(words: Sequence[ClauseToken], least: int, *, hearer: bool, persons: bool) -> int:
    """Return how many of ``words`` can stand alone; 0 where too few.

    Args:
        words: those of a clause.
        least: how many must stay: subject and verb.
        hearer: whether it is clear who ``you`` is.
        persons: whether ``he`` and ``she`` are clear from the clause's subject.
    """
    low = [word.low for word in words]
    end = len(words)
    while True:
        bad = _find_unclear(words[:end], hearer=hearer, persons=persons)
        if bad is None:
            return _without_tail(words, end, least)
        # "That" which points is what the words before it lead to, and ends no clause.
        last = bad - 1 if low[bad] == "that" else bad
        cuts = (at for at in range(last, least - 1, -1) if low[at] in _EN.words("clause_ends"))
        aside = low[bad] == "the" and low[bad - 1] in _EN.words("aside")
        cut = bad - 1 if aside else next(cuts, None)
        # "I sing tenor there": wherever that is, the rest is whole.
        told = [word for word in words[least:bad] if carries_content(word)]
        if low[bad] == "there" and bad == end - 1 and len(told) > 1:
            cut = bad
        end = 0 if cut is None else _before_links(low, cut, least)
        if end <= least:
            return 0


def leads_nowhere(lead: Sequence[ClauseToken]) -> bool:
    """Return whether the words before a subject cannot be understood here: ``At the event,``."""
    return _find_unclear(lead, hearer=False, persons=False) is not None


def _find_unclear(words: Sequence[ClauseToken], *, hearer: bool, persons: bool) -> int | None:
    """Return the place of the first word that cannot be understood here."""
    low = [word.low for word in words]
    singular = plural = False  # Whether one thing, or many, that a pronoun can mean came before.
    for place, each in enumerate(low):
        before = low[place - 1] if place else ""
        after = low[place + 1] if place + 1 < len(low) else ""
        elsewhere = (
            (each == "following" and place)
            or (each == "us" and before == "of")
            or (each == "similar" and before in {"something", "a"})
            or (each == "as" and after in _EN.words("shown"))
            or (each == "each" and after.startswith("other"))
            or (each in _EN.words("second") and not hearer)
            or (each in _EN.words("hypothetical") and place > 1 and before != "asked")
        )
        if elsewhere or (each == "the" and _is_unnamed(low, place)):
            return place
        if each == "there" and not singular and after not in _EN.words("auxiliaries"):
            return place
        if each in _EN.words("pronouns") or _points(low, place):
            # "They operated on my knee": whoever they are; "it's our wedding on 12 July".
            head = each.partition("'")[0]
            if place == 0 and (head == "they" or (each == "it's" and after in {"my", "our"})):
                clear = True
            elif each in {"this", "these", "those"}:
                mere_article = each == "this" and after in _EN.words("evaluative")
                clear = mere_article or after in _EN.words("calendar_units")
            elif each in _EN.words("he_and_she"):
                clear = persons
            else:
                clear = plural if each in _EN.words("they") else singular
            if not clear:
                return place
        named = place > 0 and words[place].text[0].isupper() and each.partition("'")[0] != "i"
        singular = singular or named or each == "this" or each in _EN.words("determiners")
        many = len(each) > _SHORTEST and each[-1] == "s"
        plural = plural or many or each in _EN.words("plural_nouns")
    return None


def _is_unnamed(low: Sequence[str], place: int) -> bool:
    """Return whether ``the event`` stands for one that was named elsewhere."""
    at = place + 1
    while at < len(low) and low[at] in _EN.words("evaluative", "vague", "which_of_them"):
        if low[at] in _EN.words("shells"):
            break
        at += 1
    if at >= len(low) or low[at] not in _EN.words("shells"):
        return False
    after = low[at + 1] if at + 1 < len(low) else ""
    # "The event listeners" are none of these, nor is "the idea of a garden".
    goes_on = after[:1].isalpha() and after not in _EN.words("stop", "adverbs")
    return not goes_on and after not in _EN.words("telling_which")


def _points(low: Sequence[str], place: int) -> bool:
    """Return whether ``that`` stands for something instead of joining clauses."""
    if low[place] != "that" or place + 1 == len(low):
        return low[place] in {"that", "that's"}
    before = low[place - 1] if place else ""
    after = low[place + 1]
    if before in _EN.words("before_that") or (
        after in _EN.words("vague") and not after.endswith("s")
    ):
        return True
    return after in {"is", "was", ",", "."} and before in {"", "and", "but"}


def _before_links(low: Sequence[str], place: int, least: int) -> int:
    while place > least and low[place - 1] in _EN.words("links"):
        place -= 1
    return place


def _without_tail(words: Sequence[ClauseToken], end: int, least: int) -> int:
    """Cut a judgement or a word that hangs on: ``, which was great``, ``and``."""
    whole = end == len(words)
    while end > least + 1 and words[end - 1].low in _EN.words("talk"):
        end -= 1
    low = [word.low for word in words[:end]]
    # "because of the costs" at the end: which costs was said elsewhere, or never.
    for place in range(max(least, end - 4), end - 2):
        cause = low[place : place + 2] in (["because", "of"], ["due", "to"])
        if cause and low[place + 2] in {"the", "that", "this", "these", "those", "it"}:
            end = _before_links(low, place, least)
            break
    # "…, so no calls before noon": what follows from a statement is none of its own.
    so = next((at for at in range(least + 1, end - 1) if _concludes(low, at)), None)
    if so is not None and any(carries_content(word) for word in words[least:so]):
        end = so
    for place in range(end - 1, least, -1):
        empty = low[place] in _EN.words("tail_openings") and not any(
            carries_content(word) for word in words[place + 1 : end]
        )
        # "…, where 3": what was cut off or could not be read.
        stump = place == end - 2 and low[place] == "where" and not low[end - 1].isalpha()
        if empty or stump or (place == end - 1 and _hangs(low, place, whole=whole)):
            end = place
    return end


def _concludes(low: Sequence[str], place: int) -> bool:
    """Return whether a consequence begins: ``so no calls``, and not ``so that``, ``so much``."""
    return low[place] == "so" and low[place + 1] not in _EN.words("so_much", "evaluative")


def _hangs(low: Sequence[str], place: int, *, whole: bool) -> bool:
    """Return whether the last word leads to something that is not there."""
    if low[place] == "to":
        return not whole or low[place - 1] not in {"me", "us"}
    preposition = low[place] in _EN.words("prepositions")
    return low[place] in _EN.words("dangling") or (preposition and not whole)
