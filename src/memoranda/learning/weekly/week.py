"""What a digest works with: the records of the week, and the parts that read texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from memoranda.model.models import Kind, Record, Trust
from memoranda.model.ports import Analyzer, EntityExtractor, NameMatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """The parts that find names and words in a text.

    Attributes:
        names: finds the named things.
        matcher: says which names are the same.
        words: finds the words that carry meaning, in any language.
    """

    names: EntityExtractor
    matcher: NameMatcher
    words: Analyzer


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """The records that a reflection looks back on.

    Attributes:
        records: facts and episodes of the week, the newest first.
        ahead: facts of any age about times to come.
        since: when the week began.
        now: when it ended: the present.
        zone: the user's time zone.
    """

    records: Sequence[Record]
    ahead: Sequence[Record] = ()
    since: datetime
    now: datetime
    zone: tzinfo

    @property
    def facts(self) -> list[Record]:
        """The facts of the week, the newest first."""
        return [record for record in self.records if record.kind is Kind.FACT]

    @property
    def said(self) -> list[Record]:
        """The facts, and what people said: an agent's words are not what the week was about."""
        return [
            record
            for record in self.records
            if record.kind is Kind.FACT or record.trust is Trust.PERSON
        ]

    def date(self, moment: datetime) -> str:
        """Return the date of a moment for the user."""
        return self.local(moment).date().isoformat()

    def local(self, moment: datetime) -> datetime:
        """Return a moment in the user's time zone."""
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # The first or the last day that there is.
            return moment
