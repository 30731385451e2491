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
from functools import cache, lru_cache, partial
from typing import NamedTuple

from memoranda.entities.marks import find_marks, names
from memoranda.model.models import Mention
from memoranda.text.calendar import calendar_numbers
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import LanguageData, compile_pattern, compile_scanner, words_of
from memoranda.text.terms import fold_name
from memoranda.tokens.estimate import load as load_sketch

given_names = partial(words_of, "given_names")
places = partial(words_of, "places")
organizations = partial(words_of, "organizations")
products = partial(words_of, "products")
# The English words that are no names, without their inflections.
everyday_words = partial(words_of, "everyday", "en")

_EN, _MUL = LanguageData("en", "names"), LanguageData("mul", "names")
_MASK = "\ue000"
_LINE = compile_pattern(r"[^\n]+")
_HEADING = compile_pattern(r"\s{0,3}(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*$|[|=]|-{3})")
_LABEL = compile_pattern(
    r"\s{0,8}(?:(?:[-*+•]|\d{1,3}[.)])\s+)*(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__)"
)
_TOKEN = compile_scanner(r"(?:[^\W\d_]\.){2,}+|\w++(?:[-'’&]\w++|\.\d++)*+\+*+")
_START = compile_pattern(
    r"[.!?…:;\"“”(\[*•>|/=~{}+]|[-\u2013\u2014]\s|[\u2190-\u2bff\U0001f000-\U0001faff]"
)
_INNER_CAPITAL = compile_pattern(
    r"[A-Z][a-z]+(?:[A-Z][a-z]*)+\d*|[ei][A-Z][a-z]{2,}\w*|[A-Z]{2,}[a-z]+[A-Z]\w*"
)
_WITH_DIGIT = compile_pattern(r"[A-Z](?:[A-Za-z]*-\d|[A-Za-z]+\d|\d[\w-])[\w.-]*")
_CODE = frozenset("/\\=@:_.#$%&+<-")
_AT_WORK = frozenset({"at", "for"})
_LONGEST_ACRONYM, _LONGEST_VERSION, _LONGEST_NAME = 6, 3, 3
_SHORTEST_OPENER, _SHORTEST_STEM, _SHORTEST_PART = 3, 3, 3
_HEADLINE, _LONG_WORD = 5, 4


class WordToken(NamedTuple):
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
    """The rule-based :class:`~memoranda.model.ports.EntityExtractor`.

    Finds e-mails, URLs, @mentions, #hashtags, dates, quoted titles and capitalised names,
    typed ``person``, ``organization``, ``location`` or ``project`` where a rule tells and
    ``other`` elsewhere. Stateless and thread-safe.

    Reads the first :data:`MOST_READ` characters; time is linear in them.
    """

    def extract(self, text: str) -> list[Mention]:
        """Return mentions in the order of their start, none overlapping."""
        text = text[:MOST_READ]
        mentions: list[Mention] = []
        masked: list[str] = []
        end = 0
        for start, stop, mention in find_marks(text):
            masked += text[end:start], _MASK * (stop - start)
            end = stop
            if mention is not None:
                mentions.append(mention)
        masked.append(text[end:])
        found = list(_find_names("".join(masked)))
        # A name has one type in the whole text: the one that a rule could tell.
        types = {name.text: name.type for name in found if name.type != "other"}
        mentions += [replace(name, type=types.get(name.text, name.type)) for name in found]
        return sorted(mentions, key=lambda mention: mention.start)


def _find_names(text: str) -> Iterator[Mention]:
    """Yield the names of each line; headings and shouted lines have none."""
    german = len(names.german_words.intersection(text[:400].split())) > 1
    for line in _LINE.finditer(text):
        if _HEADING.match(line[0]):
            continue
        label = _LABEL.match(line[0])
        tokens = _split_words(line[0], label.end() if label else 0, line.start())
        yield from _lower_case(text, tokens)
        capitals = sum(token.name[0].isupper() for token in tokens)
        long = [token.name for token in tokens if len(token.name) > 1]
        loud = sum(map(str.isupper, long))
        if not capitals or (loud > 1 and loud * 2 > len(long)):
            continue
        # In a title nearly every word has a capital, in a headline most of the long ones.
        strict = german or (len(tokens) >= _HEADLINE and capitals * 5 >= len(tokens) * 4)
        long = [name for name in long if len(name) >= _LONG_WORD]
        headline = (
            len(long) >= _HEADLINE and sum(name[0].isupper() for name in long) * 5 > len(long) * 3
        )
        for run in _capitalized_runs(tokens):
            for name in _cut_headline(tokens, *run) if headline else (run,):
                mention = _mention(text, tokens, *name, strict=strict or name != run)
                if mention is not None:
                    yield mention


def _split_words(line: str, start: int, offset: int) -> list[WordToken]:
    """Cut a line of a text, which begins at ``offset``, into words from ``start`` on."""
    tokens: list[WordToken] = []
    opens, before = True, start
    for match in _TOKEN.finditer(line, start):
        word, begin = match[0], match.start()
        gap = line[before:begin]
        ending = None if word.isalnum() else _EN.pattern("suffix", 0).search(word)
        name = word[: ending.start()] if ending and ending.start() else word
        if gap == " ":
            opens = opens and not tokens
        elif tokens:
            # The full stop of "Dr." and of an initial ends no sentence.
            previous = tokens[-1].name
            stop = gap == ". " and (len(previous) == 1 or previous.lower() in names.titles)
            opens = not stop and _START.search(gap) is not None
        tokens.append(WordToken(name, offset + begin, gap, ending is not None, opens))
        before = match.end()
    return tokens


# Names in small letters


def _lower_case(text: str, tokens: Sequence[WordToken]) -> Iterator[Mention]:
    """Yield the well-known names that stand without a capital, where they are no word as well."""
    after = 0
    for index, token in enumerate(tokens):
        if index < after or not token.name.islower():
            continue
        last = _known_from(tokens, index)
        if last is None:
            continue
        start, end = token.start, tokens[last].end
        before, following = text[max(start - 1, 0) : start], text[end : end + 2]
        # No part of a path, an address or an assignment.
        dotted = following[:1] == "." and following[1:].isalnum()
        if before in _CODE or following[:1] in _CODE - {"."} or dotted:
            continue
        name = text[start:end]
        yield Mention(name, _type_by_form(name, token.name, name) or "other", start, end, 0.6)
        after = last + 1


def _known_from(tokens: Sequence[WordToken], first: int) -> int | None:
    """Return the last word of the known name in lower case that begins at ``first``."""
    if tokens[first].name in _place_starts():
        for count in (3, 2):
            run = tokens[first : first + count]
            spaced = all(token.gap == " " for token in run[1:])
            if len(run) == count and spaced and " ".join(t.name for t in run) in places():
                return first + count - 1
    return first if tokens[first].name in _names_in_lower_case() else None


@cache
def _known_names() -> frozenset[str]:
    """Return all well-known names."""
    return given_names() | places() | organizations() | products()


@cache
def _names_in_lower_case() -> frozenset[str]:
    """Return the well-known names that need no capital: they are no words."""
    words = words_of("names_and_words") | everyday_words() | names.joiners
    return frozenset(name for name in _known_names() if name.isalpha()) - words


@cache
def _place_starts() -> frozenset[str]:
    """Return the first words of places with several."""
    return frozenset(name.split()[0] for name in places() if " " in name)


# Capitals


def _capitalized_runs(tokens: Sequence[WordToken]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of every run of capitalised words."""
    first, count = 0, len(tokens)
    while first < count:
        last = first
        if _can_name(tokens[first]):
            while (step := _reach(tokens, last)) > 0:
                last += step
            yield first, last
        first = last + 1


def _can_name(token: WordToken) -> bool:
    """Tell whether a word has the form of a name or of a part of one."""
    word = token.name
    if word.islower() or "_" in word or word == "I":
        return False
    return word[0].isupper() or _INNER_CAPITAL.fullmatch(word) is not None


def _reach(tokens: Sequence[WordToken], last: int) -> int:
    """Return how many words further a name goes on after the word ``last``."""
    word, following = tokens[last], tokens[last + 1 : last + 4]
    if word.possessive or not following:
        return 0
    next_word = following[0]
    initial = next_word.gap == ". " and not next_word.opens
    goes_on = _can_name(next_word) and (next_word.gap in {" ", " & "} or initial)
    version = next_word.name.isdigit() and len(next_word.name) <= _LONGEST_VERSION
    if goes_on or (version and next_word.gap == " " and not _is_common(word.name)):
        return 1
    for steps, each in enumerate(following, 1):
        if steps > 1 and each.gap == " " and _can_name(each):
            return steps
        if each.gap != " " or each.name not in names.joiners:
            break
    return 0


def _cut_headline(tokens: Sequence[WordToken], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the names in a capitalized run of a headline, without the everyday words in it.

    A known name, place or organization stays whole: "Joel Ward", "Ohio State".
    """
    run = [token.name for token in tokens[first : last + 1]]
    low = [word.lower() for word in run]
    if len(run) <= _LONGEST_NAME and (
        low[0] in given_names()
        or not places().isdisjoint(low)
        or low[-1] in names.organization_ends
    ):
        yield first, last
        return
    start = first
    for index, word in enumerate([*run, None], first):
        if word is None or (_is_common(word) and word.lower() not in given_names()):
            if start < index:
                yield start, index - 1
            start = index + 1


# Which runs are names


def _mention(
    text: str, tokens: Sequence[WordToken], first: int, last: int, *, strict: bool
) -> Mention | None:
    """Return the name in a run of capitalised words, if there is one."""
    begin = first
    first, last, title = _trim(tokens, first, last)
    if first > last or tokens[first].name[0].isdigit():
        return None
    start, end = tokens[first].start, tokens[last].end
    name, article = text[start:end], tokens[begin]
    # The article of a title ("in The Replacement"): its capital opens no sentence.
    titled = article.name == "The" and not article.opens and tokens[begin + 1].gap == " "
    if begin + 1 == first and not strict and titled:
        kind = _type_of(name, tokens, first, last)
        return Mention(text[article.start : end], kind, article.start, end, 0.7)
    single = first == last
    if single and not title and not _is_single_name(tokens, first, strict=strict):
        return None
    if not single and not _is_phrase(tokens, first, last, strict=strict):
        return None
    kind = "person" if title else _type_of(name, tokens, first, last)
    confidence = 0.8 if title or not single else 0.5 if tokens[first].opens else 0.7
    return Mention(name, kind, start, end, confidence)


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
            or low in _date_words()
            or (word in names.joiners)
            or (word in names.asides and first < last)
            or (tokens[first].opens and not _keeps_opener(tokens, first, last, whole))
        ):
            break
        first += 1
    while first <= last:
        word = tokens[last].name
        loud = word in names.shouted and first < last
        if not (word.lower() in _date_words() or word in names.joiners or loud):
            break
        last -= 1
    return first, last, title


def _keeps_opener(tokens: Sequence[WordToken], first: int, last: int, whole: str) -> bool:
    """Tell whether the capital that opens a sentence also begins a name."""
    word = tokens[first].name
    low, parts = word.lower(), whole.split()
    known = any(" ".join(parts[:n]) in places() for n in (2, 3) if len(parts) >= n)
    institution = low in names.organization_starts and parts[1:2] == ["of"]
    if known or institution or low in _known_names():
        return True
    return not (_is_common(word) if first < last else _is_plain(word))


def _is_single_name(tokens: Sequence[WordToken], index: int, *, strict: bool) -> bool:
    token = tokens[index]
    word, low = token.name, token.name.lower()
    if len(word) == 1 or low in _date_words() or low in names.titles:
        return False
    if _WITH_DIGIT.fullmatch(word) or _INNER_CAPITAL.fullmatch(word):
        return True
    letters = word.replace(".", "").rstrip("+")
    if letters.isupper() and len(letters) > 1:
        known = letters in names.shouted or _is_common(letters)
        return not known and len(letters) <= _LONGEST_ACRONYM
    if low in places() or (low in _known_names() and low not in everyday_words()):
        return True
    # An order is none: "Define the steps".
    order = token.opens and index + 1 < len(tokens) and tokens[index + 1].name in names.objects
    # Nor is an interjection ("Hmm") or a stray syllable.
    stray = token.opens and len(word) < _SHORTEST_OPENER
    sound = _EN.pattern("interjection", 0).fullmatch(low) is not None
    return not (strict or order or stray or sound or _is_common(word))


def _is_phrase(tokens: Sequence[WordToken], first: int, last: int, *, strict: bool) -> bool:
    """Refuse phrases of everyday words alone ("Happy Birthday"), and whole headlines."""
    parts = [t.name for t in tokens[first : last + 1] if t.name not in names.joiners]
    if (strict and len(parts) >= _HEADLINE) or all(len(part) == 1 for part in parts):
        return False
    if any(not _is_common(part) and part.lower() not in _date_words() for part in parts):
        return True
    whole = " ".join(parts).lower()
    end = parts[-1].lower()
    return whole in places() or (end in names.place_ends | names.organization_ends and not strict)


# Types


def _type_of(name: str, tokens: Sequence[WordToken], first: int, last: int) -> str:
    """Return the entity type of a name, by its form or the words around it."""
    by_form = _type_by_form(name, tokens[first].name.lower(), tokens[last].name.lower())
    return by_form or _type_by_cue(tokens, first, last) or "other"


def _type_by_form(name: str, begin: str, end: str) -> str | None:
    """Return the type that the form of ``name`` tells; its first and last word in small letters."""
    low, several = name.lower(), " " in name
    begins_organization = begin in names.organization_starts and " of " in low
    inner = _INNER_CAPITAL.fullmatch(name) and not _EN.pattern("surname", 0).fullmatch(name)
    rules = (
        ("location", low in places()),
        ("organization", low in organizations()),
        ("project", low in products()),
        ("organization", several and (end in names.organization_ends or begins_organization)),
        ("location", several and (end in names.place_ends or begin in names.place_starts)),
        ("person", begin in given_names() and " of " not in low and not end.isdigit()),
        ("project", _WITH_DIGIT.fullmatch(name) or end.isdigit() or inner),
    )
    return next((kind for kind, holds in rules if holds), None)


def _type_by_cue(tokens: Sequence[WordToken], first: int, last: int) -> str | None:
    """Look at the words before and after: "Hey Mel!", "X said", "moved to X"."""
    before = tokens[first - 1].name.lower() if first else ""
    after = tokens[last + 1] if last + 1 < len(tokens) else None
    close = first > 0 and tokens[first].gap == " "
    says = after is not None and after.gap == " " and after.name in names.speech
    ends = after is None or after.gap[:1] in ",.!?;"
    called = before in names.vocatives and tokens[first].gap in {" ", ", "} and ends
    if says or called or (close and before in names.person_before):
        return "person"
    if close and before not in names.articles and not tokens[last].name.isupper():
        nearby = {token.name.lower() for token in tokens[max(0, first - 4) : first]}
        if before in _AT_WORK and nearby & names.work:
            return "organization"
        if before == "at" or (before in names.place_prepositions and nearby & names.motion):
            return "location"
    # Two or three plain words, none of them an everyday one: most often a person.
    run = [token.name for token in tokens[first : last + 1]]
    full = 1 < len(run) <= _LONGEST_NAME and all(map(_can_be_part_of_a_person, run))
    return "person" if full and before not in names.articles else None


def _can_be_part_of_a_person(word: str) -> bool:
    """Tell whether a word can stand in a person's name."""
    formed = word.isalpha() and word[1:].islower() and len(word) >= _SHORTEST_PART
    known = word.lower() in organizations() or word.lower() in products()
    return formed and not known and not _is_plain(word)


# Everyday words


@cache
def _date_words() -> frozenset[str]:
    """Return the names of months and days, which are no names of things."""
    weekdays = calendar_numbers("weekdays", "en", "de")
    months = {**calendar_numbers("months", "en", "de"), **calendar_numbers("short_months", "en")}
    days = {*weekdays, *(f"{day}s" for day in calendar_numbers("weekdays", "en"))}
    return names.holidays.union(months, days, calendar_numbers("short_weekdays", "en"))


@lru_cache(maxsize=8_192)
def _is_common(word: str) -> bool:
    """Return whether ``word``, in any inflection, is an everyday word rather than a name."""
    low, common = word.lower(), everyday_words()
    if (
        low in words_of("everyday")
        or low in names.demonyms
        or _EN.pattern("negation", 0).search(low)
    ):
        return True
    stems = (low.removesuffix(ending) for ending in names.inflections if low.endswith(ending))
    return any(
        stem in common
        or stem + "e" in common
        or (stem[-1] == stem[-2] and stem[:-1] in common)
        or (stem[-1] == "i" and stem[:-1] + "y" in common)
        for stem in stems
        if len(stem) >= _SHORTEST_STEM
    )


def _is_plain(word: str) -> bool:
    """Return whether a word is an everyday one, or ends like a word that is no name."""
    return _is_common(word) or _EN.pattern("plain_word", 0).fullmatch(word.lower()) is not None


def is_given_name(word: str) -> bool:
    """Return whether a word is a given name, and no place or date: Bob, Jürgen, Anna-Lena."""
    return fold_name(word).partition("-")[0] in given_names() - places() - _date_words()


def is_no_name(word: str) -> bool:
    """Return whether a word is not the name of a person: everyday, a date, a known thing.

    A tokenizer has nearly all everyday words of large languages as one token, and few names: of 70
    names that are in no list here five, of 100 words for what people note all but eight.
    """
    low = word.lower().replace(".", "")
    things = places() | organizations() | products() | _date_words()
    noun = _MUL.pattern("noun").fullmatch(low) is not None
    known = noun or low in things or low.upper() in names.shouted or _is_plain(low)
    return known or f" {low}".encode() in load_sketch("o200k_base").levels
