"""Named things by rule: no model, no dictionary of the world, quick enough for every turn.

The provider ``regex`` (requirement S4.33), widened from marks to names: people,
places, organizations and projects, by capitals and the words around them. Right rather
than complete: a missed name costs a link, a false one pollutes every search for it.

In scripts without capitals (Chinese, Japanese, Arabic, …) only marks and quoted titles
are found. In German, where every noun has a capital, a single word needs more evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from memoranda.entities import capitals
from memoranda.entities.capitals import WordToken
from memoranda.entities.marks import find_marks
from memoranda.entities.name_types import WITH_DIGIT, type_by_form, type_of
from memoranda.entities.vocabulary import (
    date_words,
    everyday_words,
    given_names,
    is_common,
    is_interjection,
    is_plain,
    known_names,
    names,
    places,
)
from memoranda.model.models import Mention
from memoranda.text.entity_labels import TEXT_LIMIT
from memoranda.text.languages import words_of
from memoranda.text.patterns import compile_pattern

_MASK = "\ue000"
_LINE = compile_pattern(r"[^\n]+")
_HEADING = compile_pattern(r"\s{0,3}(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*$|[|=]|-{3})")
_LABEL = compile_pattern(
    r"\s{0,8}(?:(?:[-*+•]|\d{1,3}[.)])\s+)*(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__)"
)
_LONGEST_ACRONYM = 6
_CODE = frozenset("/\\=@:_.#$%&+<-")
_SHORTEST_OPENER = 3


class RuleExtractor:
    """The rule-based :class:`~memoranda.model.ports.EntityExtractor`.

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
        mentions += _agree(list(_names("".join(masked))))
        mentions.sort(key=lambda mention: mention.start)
        return mentions


def _agree(found: Sequence[Mention]) -> Iterator[Mention]:
    """Let a name have one type in the whole text: the one that a rule could tell."""
    types = {name.text: name.type for name in found if name.type != "other"}
    for name in found:
        known = types.get(name.text, name.type)
        yield name if known == name.type else replace(name, type=known)


def _names(text: str) -> Iterator[Mention]:
    """Yield the names of each line; headings and shouted lines have none."""
    lowered = frozenset(text[:400].split())
    german = len(lowered & names.german_words) > 1
    for line in _LINE.finditer(text):
        if _HEADING.match(line[0]):
            continue
        label = _LABEL.match(line[0])
        begin = line.start() + (label.end() if label else 0)
        tokens = capitals.split_words(text, begin, line.end())
        yield from _lower_case(text, tokens)
        count = sum(token.name[0].isupper() for token in tokens)
        if not count or capitals.is_shouted(tokens):
            continue
        strict = german or capitals.is_title_line(tokens, count)
        headline = capitals.is_headline(tokens)
        for run in capitals.capitalized_runs(tokens):
            for name in capitals.cut_headline(tokens, *run) if headline else (run,):
                mention = _mention(text, tokens, *name, strict=strict or name != run)
                if mention is not None:
                    yield mention


def _lower_case(text: str, tokens: Sequence[WordToken]) -> Iterator[Mention]:
    """Yield the well-known names that stand without a capital, where they are no word as well."""
    after = 0
    for index, token in enumerate(tokens):
        if index < after or not token.name.islower():
            continue
        last = _known_from(tokens, index)
        if last is None or not _stands_alone(text, token.start, tokens[last].end):
            continue
        name = text[token.start : tokens[last].end]
        kind = type_by_form(name, token.name, name) or "other"
        yield Mention(name, kind, token.start, tokens[last].end, 0.6)
        after = last + 1


@cache
def _names_in_lower_case() -> frozenset[str]:
    """Return the well-known names that need no capital: they are no words."""
    words = words_of("names_and_words") | everyday_words() | names.joiners
    return frozenset(name for name in known_names() if name.isalpha()) - words


@cache
def _place_starts() -> frozenset[str]:
    """Return the first words of places with several."""
    return frozenset(name.split()[0] for name in places() if " " in name)


def _known_from(tokens: Sequence[WordToken], first: int) -> int | None:
    """Return the last word of the known name in lower case that begins at ``first``."""
    if tokens[first].name in _place_starts():
        for count in (3, 2):
            run = tokens[first : first + count]
            spaced = all(token.gap == " " for token in run[1:])
            if len(run) == count and spaced and " ".join(t.name for t in run) in places():
                return first + count - 1
    return first if tokens[first].name in _names_in_lower_case() else None


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tell a word of a sentence from a part of a path, an address or an assignment."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 2]
    dotted = after[:1] == "." and after[1:].isalnum()
    return before not in _CODE and (after[:1] not in _CODE - {"."}) and not dotted


def _mention(
    text: str, tokens: Sequence[WordToken], first: int, last: int, *, strict: bool
) -> Mention | None:
    """Return the name in a run of capitalised words, if there is one."""
    begin = first
    first, last, title = _trim(tokens, first, last)
    if first > last or tokens[first].name[0].isdigit():
        return None
    start, end = tokens[first].start, tokens[last].end
    name = text[start:end]
    if begin + 1 == first and not strict and _is_titled(tokens, begin):
        start = tokens[begin].start
        return Mention(text[start:end], type_of(name, tokens, first, last), start, end, 0.7)
    if first == last and not title and not _is_single_name(tokens, first, strict=strict):
        return None
    if first < last and not _is_phrase(tokens, first, last, strict=strict):
        return None
    type_ = "person" if title else type_of(name, tokens, first, last)
    confidence = 0.5 if tokens[first].opens and first == last else 0.7
    return Mention(name, type_, start, end, 0.8 if first < last or title else confidence)


def _is_titled(tokens: Sequence[WordToken], index: int) -> bool:
    """Tell the article of a title ("in The Replacement"): its capital opens no sentence."""
    return tokens[index].name == "The" and not tokens[index].opens and tokens[index + 1].gap == " "


def _trim(tokens: Sequence[WordToken], first: int, last: int) -> tuple[int, int, bool]:
    """Drop what only stands beside a name: sentence openers, articles, titles, dates."""
    title = False
    whole = " ".join(token.name for token in tokens[first : last + 1]).lower()
    while first <= last:
        word = tokens[first].name
        low = word.lower()
        if low in names.titles and first < last:
            title = True
        elif not (
            low in names.openers
            or low in date_words()
            or (word in names.joiners)
            or (word in names.asides and first < last)
            or (tokens[first].opens and not _keeps_opener(tokens, first, last, whole))
        ):
            break
        first += 1
        if tokens[first - 1].possessive:
            break
    while first <= last and _ends_no_name(tokens[last].name, alone=first == last):
        last -= 1
    return first, last, title


def _ends_no_name(word: str, *, alone: bool) -> bool:
    loud = word in names.shouted and not alone
    return word.lower() in date_words() or word in names.joiners or loud


def _keeps_opener(tokens: Sequence[WordToken], first: int, last: int, whole: str) -> bool:
    """Tell whether the capital that opens a sentence also begins a name."""
    word = tokens[first].name
    low = word.lower()
    if low in given_names() or low in places() or any(whole.startswith(p) for p in _two(whole)):
        return True
    if low in names.organization_starts and first < last and tokens[first + 1].name == "of":
        return True
    if word.isupper() and len(word) > 1:
        return first < last or (low not in everyday_words())
    return not (is_common(word) if first < last else is_plain(word))


def _two(whole: str) -> Iterator[str]:
    """Yield the first two and three words if they are a known place."""
    parts = whole.split()
    for count in (2, 3):
        place = " ".join(parts[:count])
        if len(parts) >= count and place in places():
            yield place


def _is_single_name(tokens: Sequence[WordToken], index: int, *, strict: bool) -> bool:
    token = tokens[index]
    word, low = token.name, token.name.lower()
    if len(word) == 1 or low in date_words() or low in names.titles:
        return False
    if WITH_DIGIT.fullmatch(word) or capitals.INNER_CAPITAL.fullmatch(word):
        return True
    letters = word.replace(".", "").rstrip("+")
    if letters.isupper() and len(letters) > 1:
        return (
            letters not in names.shouted
            and not is_common(letters)
            and len(letters) <= _LONGEST_ACRONYM
        )
    if low in places() or (low in known_names() and low not in everyday_words()):
        return True
    # An order is none: "Define the steps".
    order = token.opens and index + 1 < len(tokens) and tokens[index + 1].name in names.objects
    if strict or order or is_common(word) or _is_sound(token):
        return False
    return word.isalpha() or "-" in word or "'" in word


def _is_sound(token: WordToken) -> bool:
    """Tell an interjection ("Hahaha", "Nooo", "Hmm") and a stray syllable from a name."""
    if token.name.isupper():
        return False
    stray = token.opens and len(token.name) < _SHORTEST_OPENER
    return stray or is_interjection(token.name)


def _is_phrase(tokens: Sequence[WordToken], first: int, last: int, *, strict: bool) -> bool:
    """Refuse phrases of everyday words alone ("Happy Birthday"), and whole headlines."""
    parts = [t.name for t in tokens[first : last + 1] if t.name not in names.joiners]
    if (strict and len(parts) >= capitals.HEADLINE) or all(len(part) == 1 for part in parts):
        return False
    if any(not is_common(part) and part.lower() not in date_words() for part in parts):
        return True
    whole = " ".join(parts).lower()
    end = parts[-1].lower()
    return whole in places() or (end in names.place_ends | names.organization_ends and not strict)
