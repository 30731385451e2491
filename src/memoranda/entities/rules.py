"""Named things by rule: no model, no dictionary of the world, quick enough for every turn.

The provider ``regex`` (requirement S4.33), widened from marks to names: people,
places, organizations and projects, by capitals and the words around them. Right rather
than complete: a missed name costs a link, a false one pollutes every search for it.

A word is no name if it is an everyday one: a tokenizer has nearly all of these as one token, and
few names; those names stand in lists. In scripts without capitals (Chinese, Japanese, Arabic, …)
only marks and quoted titles are found. In German, where every noun has a capital, a single word
needs more evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
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

_EN, _MUL = LanguageData("en", "names", flags=0), LanguageData("mul", "names")
_MASK = "\ue000"
_LINE = compile_pattern(r"[^\n]+")
_TOKEN = compile_scanner(r"(?:[^\W\d_]\.){2,}+|\w++(?:[-'’&]\w++|\.\d++)*+\+*+")
_START = compile_pattern(
    r"[.!?…:;\"“”(\[*•>|/=~{}+]|[-\u2013\u2014]\s|[\u2190-\u2bff\U0001f000-\U0001faff]"
)
_INNER_CAPITAL = compile_pattern(
    r"[A-Z][a-z]+(?:[A-Z][a-z]*)+\d*|[ei][A-Z][a-z]{2,}\w*|[A-Z]{2,}[a-z]+[A-Z]\w*"
)
_LONGEST_NAME = 3
# Words of a headline at least.
_HEADLINE = 5


class WordToken(NamedTuple):
    """A word of a line: ``name`` is it without ``'s``, ``gap`` what stands before it."""

    name: str
    start: int
    gap: str
    possessive: bool
    opens: bool

    @property
    def low(self) -> str:
        """The word in small letters."""
        return self.name.lower()

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
        masked, marks = text, list(find_marks(text))
        for start, stop, _ in marks:
            masked = masked[:start] + _MASK * (stop - start) + masked[stop:]
        mentions = list(_find_names(masked))
        mentions += [mention for *_, mention in marks if mention is not None]
        return sorted(mentions, key=lambda mention: mention.start)


def _find_names(text: str) -> Iterator[Mention]:
    """Yield the names of each line; shouted lines have none."""
    german = len(names("german_words").intersection(text[:400].split())) > 1
    for line in _LINE.finditer(text):
        tokens = _split_words(line[0], line.start())
        long = [token.name for token in tokens if len(token.name) > 1]
        loud = sum(map(str.isupper, long))
        if loud > 1 and loud * 2 > len(long):
            continue
        # In a headline most words have a capital: a single name there is one that is known.
        capitals = sum(token.name[0].isupper() for token in tokens)
        strict = german or (len(tokens) >= _HEADLINE and capitals * 5 >= len(tokens) * 3)
        for first, last in _capitalized_runs(tokens):
            mention = _mention(text, tokens, first, last, strict=strict)
            if mention is not None:
                yield mention


def _split_words(line: str, offset: int) -> list[WordToken]:
    """Cut a line of a text, which begins at ``offset``, into words."""
    tokens: list[WordToken] = []
    opens, before = True, 0
    for match in _TOKEN.finditer(line):
        word, begin = match[0], match.start()
        gap = line[before:begin]
        ending = None if word.isalnum() else _EN.suffix.search(word)
        name = word[: ending.start()] if ending and ending.start() else word
        if gap == " ":
            opens = opens and not tokens
        elif tokens:
            # The full stop of "Dr." and of an initial ends no sentence.
            previous = tokens[-1].name
            stop = gap == ". " and (len(previous) == 1 or previous.lower() in names("titles"))
            opens = not stop and _START.search(gap) is not None
        tokens.append(WordToken(name, offset + begin, gap, ending is not None, opens))
        before = match.end()
    return tokens


# Which words may stand in a name


@cache
def _known_names() -> frozenset[str]:
    """Return all well-known names."""
    return given_names() | places() | organizations() | products()


@cache
def _names_in_lower_case() -> frozenset[str]:
    """Return the well-known names that need no capital: they are no words."""
    return _known_names() - words_of("names_and_words") - names("joiners")


@cache
def _date_words() -> frozenset[str]:
    """Return the names of months and days, which are no names of things."""
    weekdays = calendar_numbers("weekdays", "en", "de")
    months = {**calendar_numbers("months", "en", "de"), **calendar_numbers("short_months", "en")}
    days = {*weekdays, *(f"{day}s" for day in calendar_numbers("weekdays", "en"))}
    return names("holidays").union(months, days, calendar_numbers("short_weekdays", "en"))


@cache
def _beside_names() -> frozenset[str]:
    """Return the words in small letters with which no name begins."""
    return names("joiners") | _date_words()


def is_everyday(word: str) -> bool:
    """Return whether a word is an everyday one, in any large language, or a date.

    Of 70 names that are in no list here five are one token of a tokenizer, of 100 words for what
    people note all but eight.
    """
    low = word.lower()
    in_list = low in names("demonyms") or low in _date_words()
    return in_list or f" {low}".encode() in load_sketch("o200k_base").levels


def is_given_name(word: str) -> bool:
    """Return whether a word is a given name, and no place or date: Bob, Jürgen, Anna-Lena."""
    return fold_name(word).partition("-")[0] in given_names() - places() - _date_words()


def is_no_name(word: str) -> bool:
    """Return whether a word is not the name of a person: everyday, a date, a known thing."""
    low = word.lower().replace(".", "")
    known = low in _known_names() - given_names() or is_everyday(low)
    return known or _MUL.noun.fullmatch(low) is not None


def _may_name(token: WordToken) -> bool:
    """Return whether a word is known as a name, or is no everyday one."""
    known = token.low in _known_names() and token.low not in _date_words()
    return known or not is_everyday(token.name)


# Capitals


def _capitalized_runs(tokens: Sequence[WordToken]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of every run of words that are written as names are."""
    run: list[int] = []
    for place, token in enumerate(tokens):
        fits, initial = _can_name(tokens, place), token.gap == ". " and not token.opens
        joined = run and not tokens[place - 1].possessive and (token.gap in {" ", " & "} or initial)
        if joined and (fits or token.name in names("joiners")):
            run.append(place)
            continue
        if run:
            yield run[0], run[-1]
        run = [place] if fits else []
    if run:
        yield run[0], run[-1]


def _can_name(tokens: Sequence[WordToken], place: int) -> bool:
    """Tell whether a word has the form of a name or of a part of one."""
    word = tokens[place].name
    if word in _names_in_lower_case():
        # No part of a path, an address or an assignment.
        gaps = [each.gap for each in tokens[max(place, 1) : place + 2]]
        return all(" " in gap for gap in gaps)
    if word.islower() or "_" in word or word == "I":
        return False
    return word[0].isupper() or _INNER_CAPITAL.fullmatch(word) is not None


# Which runs are names


def _mention(
    text: str, tokens: Sequence[WordToken], first: int, last: int, *, strict: bool
) -> Mention | None:
    """Return the name in a run of capitalised words, if there is one."""
    first, last = _trim(tokens, first, last)
    if first > last or tokens[first].name[0].isdigit():
        return None
    start, end = tokens[first].start, tokens[last].end
    title = first > 0 and tokens[first - 1].low in names("titles")
    single, is_name = first == last, _is_single_name if first == last else _is_phrase
    if not (title or is_name(tokens[first : last + 1], strict=strict)):
        return None
    kind = "person" if title else _type_of(tokens, first, last)
    confidence = 0.8 if title or not single else 0.5 if tokens[first].opens else 0.7
    return Mention(text[start:end], kind, start, end, confidence)


def _trim(tokens: Sequence[WordToken], first: int, last: int) -> tuple[int, int]:
    """Drop what only stands beside a name: sentence openers, articles, titles, dates."""
    while first <= last and _stands_before(tokens, first, last):
        first += 1
    while first <= last and tokens[last].low in _beside_names():
        last -= 1
    return first, last


def _stands_before(tokens: Sequence[WordToken], first: int, last: int) -> bool:
    """Return whether the first word of a run is no part of the name in it."""
    token = tokens[first]
    if token.low in _beside_names() or (first < last and token.low in names("titles")):
        return True
    words = [each.low for each in tokens[first : last + 1]]
    known = any(" ".join(words[:count]) in places() for count in (2, 3)) or words[1:2] == ["of"]
    return token.opens and not (known or _may_name(token))


def _is_single_name(tokens: Sequence[WordToken], *, strict: bool) -> bool:
    """Return whether one capitalised word is a name."""
    token, word, low = tokens[0], tokens[0].name, tokens[0].low
    if len(word) == 1 or low in _date_words() or low in names("titles"):
        return False
    if _INNER_CAPITAL.fullmatch(word) or low in _known_names():
        return True
    # What opens a sentence has a capital anyway: "Nooo!"
    return not (strict or token.opens) and _may_name(token)


def _is_phrase(tokens: Sequence[WordToken], *, strict: bool) -> bool:
    """Refuse phrases of everyday words alone ("Happy Birthday"), and whole headlines."""
    parts = [token for token in tokens if token.name not in names("joiners")]
    if (strict and len(parts) >= _HEADLINE) or all(len(part.name) == 1 for part in parts):
        return False
    ends = names("place_ends") | names("organization_ends")
    known = " ".join(part.low for part in parts) in places()
    return any(map(_may_name, parts)) or known or (parts[-1].low in ends and not strict)


# Types


def _type_of(tokens: Sequence[WordToken], first: int, last: int) -> str:
    """Return the type of a name by its own words or those before it: "moved to Orillia"."""
    run = tokens[first : last + 1]
    name, end, several = " ".join(token.name for token in run), run[-1].low, len(run) > 1
    before = tokens[first - 1].low if first and run[0].gap == " " else ""
    nearby = {token.low for token in tokens[max(0, first - 4) : first]}
    low, whole = name.lower(), " of " not in name
    inner = _INNER_CAPITAL.fullmatch(name) and not _EN.surname.fullmatch(name)
    # Two or three words, none of them an everyday one: most often a person.
    full = several and len(run) <= _LONGEST_NAME and not any(is_no_name(each.name) for each in run)
    rules = (
        ("location", low in places()),
        ("organization", low in organizations()),
        ("project", low in products()),
        ("organization", several and end in names("organization_ends")),
        ("location", several and end in names("place_ends")),
        ("person", whole and run[0].low in given_names()),
        ("project", inner),
        ("person", before in names("person_before")),
        ("organization", before in {"at", "for"} and nearby & names("work")),
        ("location", before in names("place_prepositions") and nearby & names("motion")),
        ("person", full),
    )
    return next((kind for kind, holds in rules if holds), "other")
