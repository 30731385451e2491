"""Facts that are known, as claims are compared with them: what they state, and since when."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from memoranda.facts.reader import FactStatement, read_written_facts
from memoranda.model.models import Kind, Record
from memoranda.text.patterns import compile_pattern
from memoranda.text.sentences import sentence_texts

_QUOTATION = compile_pattern(r'(?s)^["“](?P<said>.+)["”](?: \([^()]*\))?$')


@dataclass(slots=True)
class KnownFact:
    """A fact while a plan is made: stored already, or inserted by the plan.

    Attributes:
        record: the fact, with the attribute that its text states.
        said: when it was said last: what was confirmed since is not ended by what lies between.
        sources: the episodes that say it.
        over: whether another one took its place.
    """

    record: Record
    said: datetime
    sources: set[str]
    over: bool = False

    @classmethod
    def of(cls, record: Record, *said: datetime | None) -> KnownFact:
        """Return a stored fact as a plan knows it, whose sources were ``said`` then."""
        last = max(filter(None, [when_said(record), *said]))
        return cls(
            with_attribute(record), last, set(record.source_ids), record.superseded_by is not None
        )


def when_said(record: Record) -> datetime:
    """Return when the statement of a record was made, not when the fact was extracted."""
    with suppress(KeyError, ValueError, TypeError):
        moment = datetime.fromisoformat(record.metadata["said_at"])
        if moment.tzinfo is not None:
            return moment
    # Nobody says when it was said: then it counts from when it happened, or was stored.
    return min(record.created_at, record.event_time)


def with_attribute(record: Record) -> Record:
    """Return a fact with the attribute that its text states, where it was stored without one.

    So a fact that a person or a program wrote down, or that came from elsewhere, is ended by
    what ends one that was learned. A text that states several attributes, and what a person said
    in so many words, have none: nothing ends a part of them.
    """
    if record.attribute is not None or record.kind is not Kind.FACT or is_quotation(record.content):
        return record
    found = stated_facts(record.content, record.user)
    if len(found) != 1:
        return record
    [fact] = found
    return replace(record, subject=fact.subject, attribute=fact.attribute, value=fact.value)


def is_quotation(content: str) -> bool:
    """Return whether a fact is a sentence as somebody said it, in quotation marks."""
    return _QUOTATION.search(content) is not None


def quoted_words(content: str) -> str:
    """Return what a fact says, without quotation marks and whose words these are."""
    found = _QUOTATION.search(content)
    return content if found is None else found["said"]


@lru_cache(maxsize=1024)
def stated_facts(content: str, user: str = "") -> tuple[FactStatement, ...]:
    """Return what the sentences of a fact state of known attributes.

    Args:
        content: the fact.
        user: the name of the user, who is meant where the fact has it.
    """
    sentences = sentence_texts(quoted_words(content))
    name = user.casefold()
    speaker = user if name and name in content.casefold() else ""
    found = [fact for each in sentences for fact in read_written_facts(each, speaker)]
    return tuple(replace(each, subject="user") if each.subject == name else each for each in found)
