"""Spans: runs of messages without gaps, as receipts of prunings name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from memoranda.model.models import Message, PrunedSpan


def runs_of(
    messages: Iterable[Message], kind: Callable[[Message], object] = lambda _: None
) -> list[list[Message]]:
    """Return messages in order as runs without gaps, each of one ``kind``."""
    keyed = (((item.position or 0) - at, kind(item), item) for at, item in enumerate(messages))
    return [[item for _, _, item in run] for _, run in groupby(keyed, key=lambda each: each[:2])]


def span_of(run: Sequence[Message], why: str) -> PrunedSpan:
    """Return the span of a run of messages."""
    return PrunedSpan(
        first=run[0].position or 0,
        last=run[-1].position or 0,
        messages=len(run),
        tokens=sum(message.tokens for message in run),
        since=run[0].timestamp,
        until=run[-1].timestamp,
        why=why,
    )
