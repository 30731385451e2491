"""What counts where the tokenizer that was asked for cannot be had: an estimate, said once."""

from __future__ import annotations

import logging
from threading import Lock

from memoranda.tokens.estimate import DEFAULT, EstimatedCounter

log = logging.getLogger("memoranda.tokens")

_said: set[str] = set()
_lock = Lock()


def estimate_instead(
    tokenizer: str, *, why: str, remedy: str, encoding: str = DEFAULT
) -> EstimatedCounter:
    """Return an estimate for ``encoding``, with one warning a process and ``tokenizer``.

    Args:
        tokenizer: the name of what cannot be had.
        why: what was tried, and how it failed.
        remedy: what to do to have exact counts.
        encoding: whose estimate.
    """
    with _lock:
        new = tokenizer not in _said
        _said.add(tokenizer)
    counter = EstimatedCounter(encoding)
    if new:
        message = "no exact token counts with %s (%s); they are now %s; for exact ones: %s"
        log.warning(message, tokenizer, why, counter.name, remedy)
    return counter
