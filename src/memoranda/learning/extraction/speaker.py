"""The context of a message: its speakers, and the persons and things mentioned last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.rewriting import ClauseToken, Person
from memoranda.model.models import Mention
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "extraction")


ROLES = frozenset({"user", "assistant", "tool", "system"})
"""Speakers that are no names."""


@dataclass(slots=True)
class SpeakerContext:
    """The speakers and last mentions that a turn is read with.

    Attributes:
        person: how its speaker is called.
        chat: whether it is said to an assistant.
        hearers: names of those spoken to.
        people: persons named in the turn, by the first name in lower case.
        last: the person spoken of last, as to be called; empty where it is not clear.
        topic: what a value was last given of: ``The deadline is``.
    """

    person: Person
    chat: bool
    hearers: frozenset[str]
    people: dict[str, str] = field(default_factory=dict)
    last: str = ""
    topic: str = ""


def build_context(
    turn: Turn, around: Iterable[Turn], mentions: Sequence[Mention]
) -> SpeakerContext:
    """Return the context with which ``turn`` is read.

    Args:
        turn: what is read.
        around: the turns said before it, and those of its page.
        mentions: the named things in it.
    """
    named = {each.speaker for each in around if each.person and each.speaker not in ROLES}
    chat = turn.speaker in ROLES
    others = named - {turn.speaker}
    hearer = next(iter(others)) if len(others) == 1 and not chat else ""
    people = {
        mention.text.split()[0].lower(): mention.text
        for mention in mentions
        if mention.type == "person" and mention.text.strip()
    }
    for other in others:
        people = {word: name for word, name in people.items() if not _same(name, other)}
    name = "the user" if chat else turn.speaker.strip()
    return SpeakerContext(Person(name, hearer), chat, frozenset(others), people)


def find_person(group: Sequence[ClauseToken]) -> str:
    """Return the person that ``group`` brings up, for a ``he`` that follows; empty in doubt.

    A thing is no person, but whose it is may be one: ``my husband`` of ``my husband's birthday``.
    """
    owners = [place for place, word in enumerate(group) if word.low.endswith("'s")]
    if not owners:
        return " ".join(word.text for word in group)
    head = group[-1].low.removesuffix("'s")
    if len(owners) > 1 or (head in _EN.words("relatives") and owners[0] < len(group) - 1):
        return ""
    owner = [word.text for word in group[: owners[0] + 1]]
    return " ".join([*owner[:-1], owner[-1].removesuffix("'s")])


def can_stand_for(pronoun: str, name: str) -> bool:
    """Return whether ``pronoun`` can stand for the person called ``name``: ``my sister``."""
    words = set(name.lower().split())
    return not words & (
        _EN.words("male_relatives")
        if pronoun.lower().startswith("she")
        else _EN.words("female_relatives")
    )


def _same(name: str, other: str) -> bool:
    return other.startswith(name) or name.startswith(other)
