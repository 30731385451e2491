"""Finds the particulars of messages: the codes, numbers and names that a later call may need.

Where messages leave a view, their marker still tells the particulars: an agent that goes on with a
booking needs its number, not the sentence it stood in. Known by their form in any language. What
may be secret is never told, nor what stands beside the name of a secret.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import zip_longest

from memoranda.conversation.signals import excerpt
from memoranda.model.models import Message
from memoranda.text.calendar import calendar_numbers
from memoranda.text.linear_patterns import LinearMatch
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.secrets import has_secret, mentions_secret

MOST = 100  # particulars of one run of messages
READ = 4_000  # characters of each end of a longer text that are read
LONGEST = 60  # characters of one
# Where a particular comes from, the most telling first.
USER, CALL, ASSISTANT, RESULT = range(4)
SOURCES = {"user": USER, "assistant": ASSISTANT, "tool": RESULT}

Particulars = dict[str, int]  # each particular of a message, and its best source


def _months() -> Iterable[str]:
    return [*calendar_numbers("months"), *calendar_numbers("short_months", "en")]


_QUOTED = LanguageData("mul", "quotations", {"months": _months})
_NAME = _QUOTED.pattern("name")
_NAME_WITHOUT_DIGITS = _QUOTED.pattern("bare")
_DIGIT = compile_pattern(r"\d")
FIGURE = _QUOTED.pattern("figure")
# Parts in which a secret and what it is called stand together.
_PARTS = compile_pattern(r"[\n;{}\[\]]|,(?!\d)|[.!?](?:\s|$)")
_MARKER = compile_pattern(r"cut_\d")


def particulars(message: Message) -> Particulars:
    """Return the particulars of a message, those that may be secret left out."""
    found: Particulars = {}
    for source, text in _texts(message):
        for name in _find(text):
            found[name] = min(source, found.get(name, source))
    return found


def names_in(message: Message) -> set[str]:
    """Return all that looks like a particular in a message, whoever may know it."""
    return {found[0] for _, text in _texts(message) for found in find_names(text)}


def find_names(text: str) -> Iterator[LinearMatch]:
    """Yield all that looks like a particular in a text; most texts have no digit."""
    return (_NAME if _DIGIT.search(text) else _NAME_WITHOUT_DIGITS).finditer(text)


def _texts(message: Message) -> Iterator[tuple[int, str]]:
    if message.role in SOURCES:
        yield SOURCES[message.role], excerpt(message.content, READ, READ)
    for call in message.tool_calls:
        yield CALL, excerpt(call.arguments, READ, READ)


def _find(text: str) -> Iterator[str]:
    """Yield the particulars of a text, but for those near a secret."""
    ends = [part.end() for part in _PARTS.finditer(text)]
    bounds = [0, *ends, len(text)]

    @cache
    def part(number: int) -> str:
        return text[bounds[number] : bounds[number + 1]] if number >= 0 else ""

    @cache
    def secret(number: int) -> bool:
        said = part(number)
        spoken = mentions_secret(part(number - 1)) or mentions_secret(said)
        return spoken or has_secret(said)

    for found in find_names(text):
        fits = len(found[0]) <= LONGEST and not _MARKER.search(found[0])
        if fits and not any(
            secret(bisect_right(ends, end)) for end in {found.start(), found.end() - 1}
        ):
            yield found[0]


def rank(messages: Sequence[Message], read: Callable[[Message], Particulars]) -> tuple[str, ...]:
    """Return the particulars of messages, the most telling first, at most ``MOST``.

    What the user said comes first, then what calls named, what the assistant said and what results
    hold; of these what names one thing before a figure, what was used last, and what is rare.

    Args:
        messages: in order.
        read: returns the particulars of one.
    """
    sources: dict[str, int] = {}
    latest: dict[str, int] = {}
    times: Counter[str] = Counter()
    for place, message in enumerate(messages):
        for name, source in read(message).items():
            sources[name] = min(source, sources.get(name, source))
            latest[name] = place
            times[name] += 1
    return tuple(
        sorted(
            sources,
            key=lambda name: (
                sources[name],
                FIGURE.fullmatch(name) is not None,
                -latest[name],
                times[name],
                name,
            ),
        )[:MOST]
    )


def merge_ranked(newest_first: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return several lists as one, taking from each in turn, each particular once."""
    rows = zip_longest(*newest_first)
    return tuple(dict.fromkeys(name for row in rows for name in row if name is not None))
