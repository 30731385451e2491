"""Names found by a language model: the provider ``llm``, the best and the slowest.

A model is asked for names only, never for places in the text: those are found by search, so
what it invents falls away.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeAlias

from memoranda.entities.pipeline import resolve_overlaps
from memoranda.errors import UnusableAnswer
from memoranda.model.models import Mention
from memoranda.model.ports import LanguageModel
from memoranda.model.usage import Reply
from memoranda.text.entity_labels import entity_type
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import compile_pattern, stands_alone

log = logging.getLogger("memoranda.entities")

# Of a name that the model gave and the text holds; below marks, which have a form of their own.
CONFIDENCE = 0.95

# Characters; what is longer is a sentence.
LONGEST_NAME = 100


@dataclass
class NamedThing:
    """A named thing in the text.

    Attributes:
        name: exactly as it is written in the text.
        type: person, organization, location, project or other.
    """

    name: str = ""
    type: str = "other"


@dataclass
class NamedThings:
    """All named things in the text.

    Attributes:
        names: each of them once; empty if there is none.
    """

    names: list[NamedThing] = field(default_factory=list)


# Waits for an answer of the model.
Run: TypeAlias = Callable[[Coroutine[Any, Any, Reply[NamedThings]]], Reply[NamedThings]]


@dataclass(frozen=True, slots=True)
class ModelNames:
    """A language model as an :class:`~memoranda.model.ports.EntityExtractor`.

    Reads the first :data:`~memoranda.text.limits.MOST_READ` characters, in one question.

    Attributes:
        model: is asked.
        run: awaits the question for code that is not asynchronous.
    """

    model: LanguageModel
    run: Run

    def extract(self, text: str) -> list[Mention]:
        """Return the names in the order of their start, none overlapping.

        A model without a usable answer finds none, or the text would be read every night.

        Raises:
            LLMError: the model failed.
        """
        read = text[:MOST_READ]
        if not any(character.isalpha() for character in read):
            return []
        task = files("memoranda.entities").joinpath("names_prompt.md").read_text("utf-8").strip()
        try:
            reply = self.run(self.model.ask(task, read, NamedThings))
        except UnusableAnswer as error:
            log.warning("the names in a text are left to the other providers: %s", error)
            return []
        return resolve_overlaps([_mentions(read, reply.value)])


def _mentions(text: str, answer: NamedThings) -> Iterator[Mention]:
    """Yield every place of every name that the text does hold; the first type given counts."""
    kinds: dict[str, str] = {}
    for thing in answer.names:
        name, kind = thing.name.strip(), entity_type(thing.type)
        if kind is not None and len(name) <= LONGEST_NAME and any(map(str.isalpha, name)):
            kinds.setdefault(name, kind)
    for name, kind in kinds.items():
        for start, end in _places(text, name):
            yield Mention(text[start:end], kind, start, end, CONFIDENCE)


def _places(text: str, name: str) -> list[tuple[int, int]]:
    """Return where ``name`` stands as whole words.

    Scripts without case (Chinese, Thai, Arabic, …) write words together, so there a name
    counts inside a longer run of letters, too.
    """
    pattern = compile_pattern(r"\s+".join(map(re.escape, name.split())))
    cased = name.upper() != name.lower()
    spans = (each.span() for each in pattern.finditer(text))
    return [each for each in spans if not cased or stands_alone(text, *each)]
