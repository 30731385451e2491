"""Finds the particulars of messages: the codes, numbers and names that a later call may need.

Where messages leave a view, their marker still tells the particulars: an agent that goes on with a
booking needs its number, not the sentence it stood in. Known by their form in any language. What
may be secret is never told, nor what stands beside the name of a secret.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, zip_longest

from memoranda.conversation.signals import excerpt
from memoranda.model.models import Message
from memoranda.text.calendar import calendar_numbers
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.secrets import has_secret, mentions_secret

MOST = 200  # particulars of one run of messages
READ = 4_000  # characters of each end of a longer text that are read
LONGEST = 60  # characters of one
# Where a particular comes from, the most telling first.
USER, CALL, ASSISTANT, RESULT = range(4)
SOURCES = {"user": USER, "assistant": ASSISTANT, "tool": RESULT}


def _months() -> Iterable[str]:
    return [*calendar_numbers("months"), *calendar_numbers("short_months", "en")]


_QUOTED = LanguageData("mul", "quotations", {"months": _months})
_NAME = _QUOTED.name
_NO_ID = _QUOTED.no_id
FIGURE = _QUOTED.figure
# Parts in which a secret and what it is called stand together.
_PARTS = compile_pattern(r"[\n;{}\[\]]|,(?:\D|$)|[.!?](?:\s|$)")
_HINT = compile_pattern(r"[\d@/]|\w\.\w")  # what every particular has
# What every secret has that is not told by its name: a long word, or many digits.
_MAY_HIDE = compile_pattern(r"\S{10}|(?:\d[ -]?){9}")
_MARKER = compile_pattern(r"cut_\d")
_REACHES = compile_pattern(r"@|://|^www\.")


def rank_particulars(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the particulars of a run of messages, the most telling first, at most ``MOST``.

    What the user said comes first, then what calls named, what the assistant said and what results
    hold; of these what names one thing before a figure, and what was used last.
    """
    ranks: dict[str, tuple[int, bool, int, str]] = {}
    for name, place, source in _mentions(messages):
        best = min(source, ranks[name][0]) if name in ranks else source
        ranks[name] = best, FIGURE.fullmatch(name) is not None, -place, name
    return tuple(sorted(ranks, key=ranks.__getitem__)[:MOST])


def _mentions(messages: Sequence[Message]) -> Iterator[tuple[str, int, int]]:
    """Yield the particulars of messages in order, with the place of the message and the source.

    Those near a secret are left out.

    All texts are read at once, which takes a fraction of the time that one after the other does.
    """
    texts = [
        (place, *text)
        for place, each in enumerate(messages)
        for text in _texts(each)
        if _HINT.search(text[1])
    ]
    ends = list(accumulate(len(text) + 1 for _, _, text in texts))
    every = "\n".join(text for _, _, text in texts)
    hidden = _near_secrets(every)
    for found in _NAME.finditer(every):
        name, at = found[0], found.start()
        place, source, _ = texts[bisect_right(ends, at)]
        named = len(name) <= LONGEST and not (_MARKER.search(name) or _NO_ID.fullmatch(name))
        # A marker speaks in the user's role: a tool's page could have an agent go or write there.
        named = named and not (source == RESULT and _REACHES.search(name))
        if named and not hidden(at, found.end() - 1):
            yield name, place, source


def _texts(message: Message) -> Iterator[tuple[int, str]]:
    """Yield the texts of a message, each with its source."""
    if message.role in SOURCES:
        yield SOURCES[message.role], excerpt(message.content, READ)
    for call in message.tool_calls:
        yield CALL, excerpt(call.arguments, READ)


def _near_secrets(text: str) -> Callable[[int, int], bool]:
    """Return what says whether something from one place of a text to another is near a secret."""
    spoken = mentions_secret(text)
    ends = [part.end() for part in _PARTS.finditer(text)]
    bounds = [0, *ends, len(text)]

    @cache
    def is_secret(number: int) -> bool:
        before, start, end = bounds[max(number - 1, 0)], bounds[number], bounds[number + 1]
        said = text[start:end]
        named = spoken and mentions_secret(text[before:end])
        return named or (_MAY_HIDE.search(said) is not None and has_secret(said))

    return lambda start, end: any(is_secret(bisect_right(ends, each)) for each in {start, end})


def merge_ranked(newest_first: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return several lists as one, taking from each in turn, each particular once."""
    rows = zip_longest(*newest_first)
    return tuple(dict.fromkeys(name for row in rows for name in row if name is not None))
