"""Named things by rule: no model, no dictionary of the world, quick enough for every turn.

The first provider of seed 004's pipeline (``regex``), widened from marks to names: people,
places, organizations and projects, by capitals and the words around them. Right rather
than complete: a missed name costs a link, a false one pollutes every search for it.

In scripts without capitals (Chinese, Japanese, Arabic, …) only marks and quoted titles
are found. In German, where every noun has a capital, a single word needs more evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from recollect.core.models import Mention
from recollect.entities import words as w
from recollect.entities.gazetteer import GIVEN_NAMES, PLACES
from recollect.entities.marks import find_marks

TEXT_LIMIT = 20_000
"""Only so many characters of a text are read for names: a turn, not a book."""

_MASK = "\ue000"
_TOKEN = re.compile(r"(?:[^\W\d_]\.){2,}|\w++(?:[-'’&]\w++|(?<=\d)\.\d++)*\+*")
_LINE = re.compile(r"[^\n]+")
_HEADING = re.compile(r"\s{0,3}(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*$|[|=]|-{3})")
_LABEL = re.compile(r"\s{0,8}(?:(?:[-*+•]|\d{1,3}[.)])\s+)*(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__)")
_START = re.compile(
    r"[.!?…:;\"“”(\[*•>|/=~{}+]|[-\u2013\u2014]\s|[\u2190-\u2bff\U0001f000-\U0001faff]"
)
_POSSESSIVE = re.compile(r"['’](?:s|S|m|re|ve|d|ll)$|['’]$")
_INNER_CAPITAL = re.compile(
    r"[A-Z][a-z]+(?:[A-Z][a-z]*)+\d*|[ei][A-Z][a-z]{2,}\w*|[A-Z]{2,}[a-z]+[A-Z]\w*"
)
_SURNAME = re.compile(r"(?:Mc|Mac|De|Di|Du|La|Le|O['’])[A-Z][a-z]+")
_WITH_DIGIT = re.compile(r"(?=\w{3}|\w+-)[A-Z][A-Za-z]*-?\d[\w.-]*")
_PLAIN_WORD_END = re.compile(
    r"\w{3,}(?:ing|in['’]|ly|ed|[ts]ions?|ness|ments?|ful|less|[ai]ble|ous|ives?|ism|ized?|"
    r"ify|ship|hood|[ae]nces?|ity|ities|ional|ually|ology|ward|wise|ize)"
)
_NEGATION = re.compile(r"n['’]t$")
_FUNCTION = w.words("the a an my your his her our their this that and but or i if so to in")
_LONGEST_ACRONYM = 6
_LONGEST_VERSION = 3
_SHORTEST_STEM = 3
_HEADLINE = 5


class _Token(NamedTuple):
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


class RuleExtractor:
    """The rule-based :class:`~recollect.core.ports.EntityExtractor`.

    Finds e-mails, URLs, @mentions, #hashtags, dates, quoted titles and capitalised names,
    typed ``person``, ``organization``, ``location`` or ``project`` where a rule tells and
    ``other`` elsewhere. Stateless and thread-safe.

    Reads the first :data:`TEXT_LIMIT` characters; time is linear in them.
    """

    def extract(self, text: str) -> list[Mention]:
        """Return mentions in the order of their start, none overlapping."""
        text = text[:TEXT_LIMIT]
        mentions: list[Mention] = []
        masked: list[str] = []
        end = 0
        for start, stop, mention in find_marks(text):
            masked += text[end:start], _MASK * (stop - start)
            end = stop
            if mention is not None:
                mentions.append(mention)
        masked.append(text[end:])
        names = list(_names("".join(masked)))
        mentions += _agree(names)
        mentions.sort(key=lambda mention: mention.start)
        return mentions


def _agree(names: Sequence[Mention]) -> Iterator[Mention]:
    """Let a name have one type in the whole text: the one that a rule could tell."""
    types = {name.text: name.type for name in names if name.type != "other"}
    for name in names:
        known = types.get(name.text, name.type)
        yield name if known == name.type else replace(name, type=known)


def _names(text: str) -> Iterator[Mention]:
    """Yield the names of each line; headings and shouted lines have none."""
    lowered = frozenset(text[:400].split())
    german = len(lowered & w.GERMAN) > 1
    for line in _LINE.finditer(text):
        if _HEADING.match(line[0]):
            continue
        label = _LABEL.match(line[0])
        tokens = _tokens(text, line.start() + (label.end() if label else 0), line.end())
        capitals = [token for token in tokens if token.name[0].isupper()]
        if not capitals or _is_shouted(tokens):
            continue
        strict = german or _is_title_line(tokens, len(capitals))
        for first, last in _phrases(tokens):
            mention = _mention(text, tokens, first, last, strict=strict)
            if mention is not None:
                yield mention


def _tokens(text: str, start: int, end: int) -> list[_Token]:
    """Cut a line into words."""
    tokens: list[_Token] = []
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
            stop = gap == ". " and (len(previous) == 1 or previous.lower() in w.TITLES)
            opens = not stop and _START.search(gap) is not None
        tokens.append(_Token(name, begin, gap, ending is not None, opens))
        before = match.end()
    return tokens


def _is_shouted(tokens: Sequence[_Token]) -> bool:
    long = [token.name for token in tokens if len(token.name) > 1]
    loud = sum(map(str.isupper, long))
    return loud > 1 and loud * 2 > len(long)


def _is_title_line(tokens: Sequence[_Token], capitals: int) -> bool:
    return len(tokens) >= _HEADLINE and capitals * 5 >= len(tokens) * 4


def _can_name(token: _Token) -> bool:
    """Tell whether a word has the form of a name or of a part of one."""
    word = token.name
    if word.islower() or "_" in word or word == "I":
        return False
    return word[0].isupper() or _INNER_CAPITAL.fullmatch(word) is not None


def _phrases(tokens: Sequence[_Token]) -> Iterator[tuple[int, int]]:
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


def _reach(tokens: Sequence[_Token], last: int) -> int:
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
        joined = all(t.name in w.NAME_JOINERS and t.gap == " " for t in tokens[last + 1 : end])
        if joined and end < len(tokens) and _can_name(tokens[end]) and tokens[end].gap == " ":
            return joiners + 1
    return 0


@lru_cache(maxsize=8_192)
def is_common(word: str) -> bool:
    """Return whether ``word``, in any inflection, is an everyday word rather than a name."""
    low = word.lower()
    if low in w.COMMON or low in w.FOREIGN_COMMON or _NEGATION.search(low):
        return True
    for ending in ("s", "es", "ed", "d", "ing", "in", "er", "ers", "r", "ly", "y"):
        stem = low.removesuffix(ending)
        if stem != low and len(stem) >= _SHORTEST_STEM and _is_stem(stem):
            return True
    return False


def _is_stem(stem: str) -> bool:
    if stem in w.COMMON or stem + "e" in w.COMMON:
        return True
    doubled = stem[-1] == stem[-2] and stem[:-1] in w.COMMON
    return doubled or (stem[-1] == "i" and stem[:-1] + "y" in w.COMMON)


def _mention(
    text: str, tokens: Sequence[_Token], first: int, last: int, *, strict: bool
) -> Mention | None:
    """Return the name in a run of capitalised words, if there is one."""
    first, last, title = _trim(tokens, first, last)
    if first > last:
        return None
    start, end = tokens[first].start, tokens[last].end
    name = text[start:end]
    if first == last and not title and not _is_single_name(tokens, first, strict=strict):
        return None
    if first < last and not _is_phrase(tokens, first, last, strict=strict):
        return None
    type_ = "person" if title else _type(name, tokens, first, last)
    confidence = 0.5 if tokens[first].opens and first == last else 0.7
    return Mention(name, type_, start, end, 0.8 if first < last or title else confidence)


def _trim(tokens: Sequence[_Token], first: int, last: int) -> tuple[int, int, bool]:
    """Drop what only stands beside a name: sentence openers, articles, titles, dates."""
    title = False
    whole = " ".join(token.name for token in tokens[first : last + 1]).lower()
    while first <= last:
        word = tokens[first].name
        low = word.lower()
        if low in w.TITLES and first < last:
            title = True
        elif not (
            low in _FUNCTION
            or low in w.MONTHS_AND_DAYS
            or (word in w.NAME_JOINERS)
            or (tokens[first].opens and not _keeps_opener(tokens, first, last, whole))
        ):
            break
        first += 1
        if tokens[first - 1].possessive:
            break
    while first <= last and (
        tokens[last].name.lower() in w.MONTHS_AND_DAYS or tokens[last].name in w.NAME_JOINERS
    ):
        last -= 1
    return first, last, title


def _keeps_opener(tokens: Sequence[_Token], first: int, last: int, whole: str) -> bool:
    """Tell whether the capital that opens a sentence also begins a name."""
    word = tokens[first].name
    low = word.lower()
    if low in GIVEN_NAMES or low in PLACES or any(whole.startswith(p) for p in _two(whole)):
        return True
    if low in w.ORGANIZATION_STARTS and first < last and tokens[first + 1].name == "of":
        return True
    if word.isupper() and len(word) > 1:
        return first < last or (low not in w.COMMON)
    if first == last and _PLAIN_WORD_END.fullmatch(low):
        return False
    return not is_common(word)


def _two(whole: str) -> Iterator[str]:
    """Yield the first two and three words if they are a known place."""
    parts = whole.split()
    for count in (2, 3):
        place = " ".join(parts[:count])
        if len(parts) >= count and place in PLACES:
            yield place


def _is_single_name(tokens: Sequence[_Token], index: int, *, strict: bool) -> bool:
    token = tokens[index]
    word, low = token.name, token.name.lower()
    if len(word) == 1 or low in w.MONTHS_AND_DAYS or low in w.TITLES:
        return False
    if _WITH_DIGIT.fullmatch(word) or _INNER_CAPITAL.fullmatch(word):
        return True
    letters = word.replace(".", "").rstrip("+")
    if letters.isupper() and len(letters) > 1:
        return (
            letters not in w.SHOUTED and not is_common(letters) and len(letters) <= _LONGEST_ACRONYM
        )
    if low in PLACES or (low in GIVEN_NAMES and low not in w.COMMON):
        return True
    if token.opens and index + 1 < len(tokens) and tokens[index + 1].name in w.OBJECTS:
        return False  # An order: "Define the steps".
    return not strict and word.isalpha() | ("-" in word) | ("'" in word) and not is_common(word)


def _is_phrase(tokens: Sequence[_Token], first: int, last: int, *, strict: bool) -> bool:
    """Refuse phrases of everyday words alone ("Happy Birthday"), and whole headlines."""
    parts = [t.name for t in tokens[first : last + 1] if t.name not in w.NAME_JOINERS]
    if (strict and len(parts) >= _HEADLINE) or all(len(part) == 1 for part in parts):
        return False
    if any(not is_common(part) and part.lower() not in w.MONTHS_AND_DAYS for part in parts):
        return True
    whole = " ".join(parts).lower()
    end = parts[-1].lower()
    return whole in PLACES or (end in w.PLACE_ENDS | w.ORGANIZATION_ENDS and not strict)


def _type(name: str, tokens: Sequence[_Token], first: int, last: int) -> str:
    """Return the type that the form of a name or the words around it tell."""
    by_form = _type_by_form(name, tokens[first].name.lower(), tokens[last].name.lower())
    return by_form or _type_by_cue(tokens, first, last) or "other"


def _type_by_form(name: str, begin: str, end: str) -> str | None:
    low, several = name.lower(), " " in name
    place = several and (end in w.PLACE_ENDS or begin in w.PLACE_STARTS)
    told: str | None = None
    if low in PLACES:
        told = "location"
    elif several and (
        end in w.ORGANIZATION_ENDS or (begin in w.ORGANIZATION_STARTS and " of " in low)
    ):
        told = "organization"
    elif place:
        told = "location"
    elif begin in GIVEN_NAMES and " of " not in low and not end.isdigit():
        told = "person"
    elif (
        _WITH_DIGIT.fullmatch(name)
        or end.isdigit()
        or (_INNER_CAPITAL.fullmatch(name) and not _SURNAME.fullmatch(name))
    ):
        told = "project"
    return told


def _type_by_cue(tokens: Sequence[_Token], first: int, last: int) -> str | None:
    """Look at the words before and after: "Hey Mel!", "X said", "moved to X"."""
    before = tokens[first - 1].name.lower() if first else ""
    after = tokens[last + 1] if last + 1 < len(tokens) else None
    close = first > 0 and tokens[first].gap == " "
    if after is not None and after.gap == " " and after.name in w.SPEECH:
        return "person"
    if close and before in w.PERSON_BEFORE:
        return "person"
    ends = after is None or after.gap[:1] in ",.!?;"
    if before in w.VOCATIVES and tokens[first].gap in {" ", ", "} and ends:
        return "person"
    if close and before in w.PLACE_PREPOSITIONS and first > 1:
        nearby = {token.name.lower() for token in tokens[max(0, first - 4) : first]}
        if nearby & w.MOTION and not tokens[last].name.isupper():
            return "location"
    return None
