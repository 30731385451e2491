"""What stands before and around a clause, and whether that leaves it a statement of its speaker.

Only words that lead, a time, a frame such as "I already told you that", and whole clauses of the
speaker's own do: what is denied, doubted, supposed or reported is none of these.
"""

from __future__ import annotations

from typing import Any

from memoranda.facts.forms import compile_form, group_spans, group_texts
from memoranda.facts.language import EDGE, Language, bare_words
from memoranda.text.calendar import calendar_numbers

_OPENS = frozenset(EDGE) - {" ", "\t", "'", "_", "\u2019"}
_BREAKS = _OPENS | {" ", "\t"}
# Words of a clause beyond which it need not open with its speaker.
_CLAUSE_WORDS = 2
# Marks that part a sentence before a clause.
_MARKS = r"[,;:.!?()\[\]\x{2013}\x{2014}\x{2026}]+|\s-+\s"


def opens_clause(language: Language, sentence: str, match: Any) -> bool:
    """Return whether a clause that its speaker asserts begins where a form begins."""
    opens = _opens_unspaced if language.unspaced else _opens
    return opens(language, sentence, match)


def is_doubtful(language: Language, sentence: str, match: Any, *, ends: bool) -> bool:
    """Return whether what surrounds a reading supposes, asks or undoes it, or limits an end."""
    start, stop = match.span(0)
    clause, rest = sentence[:stop], sentence[group_spans(match).get("value", (0, stop))[1] :]
    words = language.words
    surrounding = [("question", clause), ("doubt", clause), ("undoing", rest)]
    if ends:
        surrounding.append(("limits", sentence[start:]))
    return any(words.fits(*each) for each in surrounding)


def may_open(language: Language, sentence: str, start: int) -> bool:
    """Return whether an order or a request may begin at ``start``: there begins a clause."""
    if language.unspaced:
        return begins_unspaced(language, sentence[:start])
    before = sentence[:start].rstrip()
    if not before or before[-1] in _OPENS:
        return True
    *earlier, last = before.casefold().split()
    named = not language.words["determiners"].isdisjoint(earlier[-1:])
    return not named and last.strip(EDGE) in language.words["openings"]


def leaves_asserted(language: Language, before: str) -> bool:
    """Return whether what stands before a clause leaves it a statement of its speaker."""
    words = language.words
    parting = _MARKS + r"|(?:^|\s)(?:" + "|".join(words["joins"]) + r")(?:\s|$)"
    *whole, last = compile_form(parting).split(words.pattern("that").sub(r" \1", before.rstrip()))
    leads = all(_leads(language, each) for each in whole)
    return leads and (not last.strip() or _leads(language, last, joins=True))


def begins_unspaced(language: Language, before: str) -> bool:
    """Return whether a clause may begin after ``before``, in a script without spaces."""
    return not before or before[-1] in _BREAKS or before.endswith(tuple(language.words["openings"]))


def _opens(language: Language, sentence: str, match: Any) -> bool:
    """Return the same in a script whose words are parted by spaces."""
    start = match.span(0)[0]
    named = group_texts(match, sentence)
    before = sentence[:start].rstrip()
    if "bare" in named and not _may_leave_out(language, before):
        return False
    words = bare_words(named.get("named", "").replace("\u2019", " "))
    lists = language.words
    no_names = lists["unclear"] | lists["openings"] | language.function_words
    if words and (words[0] in no_names or words[0] in calendar_numbers("weekdays")):
        return False
    within = len(before) == start and before[-1:].isalnum() and sentence[start].isalnum()
    others = lists["own"].isdisjoint(words)
    return others and not within and leaves_asserted(language, before)


def _may_leave_out(language: Language, before: str) -> bool:
    """Return whether a clause after ``before`` may leave out ``I``.

    It may where it opens the sentence, or where the one before it has that subject.
    """
    words = bare_words(before)
    told = [word for word in words if word not in language.words["openings"]]
    joins = before[-1:] in _OPENS or not {*words[-1:]}.isdisjoint(language.words["joining"])
    plain = {word.partition("\u2019")[0] for word in words}
    return not told or (joins and not plain.isdisjoint(language.words["own"]))


def _opens_unspaced(language: Language, sentence: str, match: Any) -> bool:
    """Return the same in a script without spaces."""
    before, named = sentence[: match.span(0)[0]], group_texts(match, sentence)
    if language.plain(named.get("person", "")) in language.nouns:
        return False  # "My friend's sister" is no sister of the user.
    others, own = (_last_place(language, each, before) for each in ("others", "speaking"))
    return begins_unspaced(language, before) and not ("bare" in named and others > own)


def _last_place(language: Language, name: str, text: str) -> int:
    """Return where what fits a pattern ends last in a text."""
    found = language.words.pattern(name).finditer(text)
    return max((each.end() for each in found), default=-1)


def _leads(language: Language, segment: str, *, joins: bool = False) -> bool:
    """Return whether a part of a sentence may stand before a clause that is asserted.

    Args:
        language: of the sentence.
        segment: the part.
        joins: whether nothing parts it from the clause: then it must only lead into that.
    """
    lists, words = language.words, bare_words(segment)
    if lists.fits("frames", " ".join(words)):
        return True
    if lists.fits("doubt", segment) or not {*lists["reports"]}.isdisjoint(words):
        return False
    timed = lists.fits("times", " ".join(words))
    if timed and words[:1] and words[0] in lists["adjuncts"]:
        return True
    while words and words[0] in lists["openings"]:
        words.pop(0)
    if not words:
        return True
    if words[0] in lists["adjuncts"]:
        return timed or words[0] in lists["subordinating"]
    first = words[0].partition("\u2019")[0]
    own = segment.strip(EDGE)[:1].isupper() or first in language.function_words
    return not joins and (first.isdigit() or len(words) > (1 if own else _CLAUSE_WORDS))
