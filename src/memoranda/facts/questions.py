"""Reads which attribute of whom or what a question asks for: "Where do I live?", of the user.

A language's file ``questions.toml`` gives in its table ``asks``, for each attribute, the forms of
the questions for it, for RE2. What a form captures as ``whom`` is only words: whose search it is
knows which subjects there are, and takes what none of them fits for no question of this kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from memoranda.facts.forms import FormFragments, FormSet, compile_form
from memoranda.facts.language import RELATION, language_of, languages_in
from memoranda.text.patterns import LanguageData, any_of, languages_with, load, words_of

# Characters of a text that is one question; what is longer is more.
LONGEST = 300
# Words on the edges of what a form captures that tell nothing of it.
_EDGE = " \t\n.,;:!?\"'’()"


@dataclass(frozen=True, slots=True)
class AskedAttribute:
    """An attribute that a question asks for.

    Attributes:
        attribute: its name in the ontology.
        about: the words for whom or what, as they stand in the question, without articles.
        own: whether that is the user alone: "I", "my".
        nouns: the word for a person that it asks for, if it does: ``boss``.
        former: whether the question asks how it was earlier.
        language: whose forms it fits.
    """

    attribute: str
    about: str
    own: bool
    nouns: frozenset[str] = frozenset()
    former: bool = False
    language: str = "en"


def read_asked(question: str) -> list[AskedAttribute]:
    """Return the attributes that a question asks for; none for what is no such question."""
    if len(question) > LONGEST:
        return []
    text = question.replace("'", "’")
    codes = [code for code in languages_in(text) if _has_forms(code)]
    found = {each for code in codes for each in _forms(code).read(text)}
    return sorted(found, key=lambda each: (each.attribute, each.about))


def relation_nouns(text: str) -> Mapping[str, str]:
    """Return the words for people and animals in a text, each with its attribute."""
    plain = text.casefold().replace("’", " ").replace("'", " ").split()
    words = f" {' '.join(word.strip(_EDGE) for word in plain)} "
    return {noun: name for noun, name in _relations().items() if f" {noun} " in words}


def same_roles(nouns: Iterable[str]) -> set[str]:
    """Return words for people with those for who does the same: landlord and landlady."""
    told = {*nouns}
    for code in languages_with("facts"):
        for role in language_of(code).words.get("roles"):
            told |= {*role} if not told.isdisjoint(role) else set()
    return told


@cache
def _relations(*codes: str) -> Mapping[str, str]:
    return {
        noun.casefold(): attribute
        for code in codes or languages_with("facts")
        for attribute, nouns in load(code, "facts")["relations"].items()
        for written in nouns
        for named in {written, written.partition(" ")[2] or written}
        for noun in {named, language_of(code).fold(named)}
    }


def _has_forms(code: str) -> bool:
    return code in languages_with("questions") and "asks" in load(code, "questions")


@cache
def _forms(code: str) -> _QuestionForms:
    return _QuestionForms(code)


class _QuestionForms:
    """The forms of one language, compiled once."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._data = LanguageData(code, "questions", {"relation": lambda: any_of(_relations(code))})
        self._own = self._data.words("own_words")
        listed = code in languages_with("function_words")
        small = self._own | (words_of("function_words", code) if listed else frozenset())
        self._small = small.difference(_relations(code))
        self._fold = language_of(code).fold
        asks = load(code, "questions")["asks"]
        # By the place of a form: the attributes that it asks for.
        self._names = [names for names, forms in asks.items() for _ in forms]
        fragments = FormFragments(self._data.source)
        self._forms = FormSet((form for forms in asks.values() for form in forms), fragments)
        self._former = compile_form(self._data.source("formerly"))

    def read(self, text: str) -> Iterator[AskedAttribute]:
        text = self._fold(text)
        former = self._former.search(text) is not None
        for place, form in self._forms.find(text):
            match = form.search(text)
            if match is None:
                continue
            groups = match.groupdict()
            words = (groups.get("whom") or "").casefold().replace("’s", "").replace("’", "")
            plain = [word.strip(_EDGE) for word in words.split()]
            about = " ".join(word for word in plain if word and word not in self._small)
            own = not about and (not plain or any(word in self._own for word in plain))
            noun = (groups.get("noun") or "").casefold()
            for name in self._names[place].split():
                # "Who is my boss?" asks for the manager.
                asked = _relations().get(noun) if name == RELATION else name
                if asked is not None and (own or about):
                    nouns = frozenset({noun} if name == RELATION else ())
                    yield AskedAttribute(asked, about, own, nouns, former, self._code)
