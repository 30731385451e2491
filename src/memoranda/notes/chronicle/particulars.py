"""Names, figures and times that were said, as short lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from memoranda.model.life import DateMention
from memoranda.model.ports import DateReader, EntityExtractor
from memoranda.notes.chronicle.lines import Said
from memoranda.notes.chronicle.plain import one_line
from memoranda.text.languages import LanguageData

_EXTRACTION = LanguageData("en", "extraction")


NAMED = frozenset({"person", "organization", "location", "project", "other"})
LONGEST = 40
"""Characters of one name, figure or phrase of time."""
_FIGURE = re.compile(
    r"[$€£¥₹]\s?\d[\d.,]*\d\s?(?:[kKmM]\b|million\b|billion\b)?|[$€£¥₹]\s?\d"
    r"|(?<![\w.])\d[\d.,]*\s?(?:%|€|\$|£|°[CF]?|(?:USD|EUR|GBP|CHF|BRL)\b)"
    r"|(?<![\w:])\d{1,2}:\d{2}(?!:?\d)(?:\s?[ap]\.?m\b)?"
    r"|(?<![\w.,:/-])\d(?:[\d.,]*\d)?[\s-](?P<unit>[^\W\d_]{2,20})"
)
_YEAR = re.compile(r"\b\d{4}\b")
DAY = timedelta(days=1)


def iso(mention: DateMention) -> str:
    """Return the time of a mention as ISO 8601 has it: ``2023-05-07``, ``2023-06``, ``2022``."""
    since, last = mention.since, _last(mention)
    if mention.precision == "year":
        return f"{since.year:04}"
    if mention.precision == "month":
        return f"{since.year:04}-{since.month:02}"
    if mention.precision == "time" or since.date() == last.date():
        return since.date().isoformat()
    return f"{since.date().isoformat()}/{last.date().isoformat()}"


def _last(mention: DateMention) -> datetime:
    try:
        return max(mention.since, mention.until - timedelta(microseconds=1))
    except OverflowError:
        return mention.since


def dated(said: Said, dates: DateReader, *, but: str = "") -> str:
    """Return the text of a sentence with the days that its relative times mean, in brackets.

    Args:
        said: the sentence.
        dates: finds the times.
        but: a day that needs no telling.
    """
    parts, done = [], 0
    for mention in dates.read(said.text, said.turn.at):
        day = iso(mention)
        if _YEAR.search(mention.text) or day == but:
            continue
        parts += [said.text[done : mention.end], f" ({day})"]
        done = mention.end
    return "".join([*parts, said.text[done:]])


def times(said: Iterable[Said], dates: DateReader) -> Iterator[str]:
    """Yield the times that are spoken of, as ISO days with the words that were used."""
    for each in said:
        for mention in dates.read(each.whole, each.turn.at):
            day, words = iso(mention), one_line(mention.text)
            yield day if words == day or len(words) > LONGEST else f"{day} ({words})"


def figures(said: Iterable[Said], dates: DateReader) -> list[str]:
    """Return the numbers with what they count, but for those of dates."""
    found: list[str] = []
    for each in said:
        if not any(map(str.isdigit, each.whole)):
            continue
        taken = [(one.start, one.end) for one in dates.read(each.whole, each.turn.at)]
        for match in _FIGURE.finditer(each.whole):
            inside = any(start < match.end() and match.start() < end for start, end in taken)
            if not inside and _counts(match["unit"]):
                found.append(match[0].strip())
    return list(dict.fromkeys(found))


def _counts(unit: str | None) -> bool:
    """Return whether a word after a number may be what it counts."""
    if unit is None:
        return True
    low = unit.lower()
    return low not in _EXTRACTION.words("stop") | _EXTRACTION.words(
        "evaluative"
    ) | _EXTRACTION.words("adverbs") | _EXTRACTION.words("prepositions") and not low.endswith("ing")


def named(said: Sequence[Said], names: EntityExtractor, speakers: frozenset[str]) -> list[str]:
    """Return the names that are spoken of, the most frequent first."""
    counts: Counter[str] = Counter()
    for each in said:
        for mention in names.extract(each.whole):
            name = one_line(mention.text)
            known = name.lower() in speakers or any(name.lower() in one.split() for one in speakers)
            if mention.type in NAMED and len(name) <= LONGEST and not known:
                counts[name] += 1
    return [name for name, _ in counts.most_common()]
