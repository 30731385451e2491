"""Moments: aware datetimes outside, whole UTC milliseconds inside.

A naive datetime is refused rather than guessed at: the difference between two
guesses is a memory that is hours or a day wrong.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoranda.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def to_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970-01-01 UTC, rounded down."""
    return (moment - EPOCH) // MILLISECOND


def from_ms(milliseconds: int) -> datetime:
    """The aware UTC datetime of ``milliseconds`` since 1970."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def require_aware(moment: object, name: str) -> datetime:
    """Return ``moment`` in UTC, cut to the millisecond that is stored.

    Raises:
        InvalidInput: it is no datetime, or has no time zone.
    """
    if not isinstance(moment, datetime):
        message = f"{name} must be a datetime with a time zone, got {moment!r}"
        raise InvalidInput(message)
    if moment.utcoffset() is None:
        message = (
            f"{name}={moment.isoformat()} has no time zone; say which one it is in, "
            f"for example datetime(…, tzinfo=timezone.utc) or value.astimezone()"
        )
        raise InvalidInput(message)
    try:
        return from_ms(to_ms(moment))
    except OverflowError as error:
        message = f"{name}={moment.isoformat()} lies outside the years 1 to 9999 in UTC"
        raise InvalidInput(message) from error
