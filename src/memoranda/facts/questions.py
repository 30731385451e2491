"""Reads which attribute of whom or what a question asks for: "Where do I live?", of the user.

A language's file ``questions.toml`` gives in its table ``asks``, for each attribute, the forms of
the questions for it, for RE2. What a form captures as ``whom`` is only words: whose search it is
knows which subjects there are, and takes what none of them fits for no question of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from memoranda.facts.forms import FormFragments, FormSet, compile_form, group_texts
from memoranda.facts.language import RELATION, bare_words, language_of, languages_in
from memoranda.text.patterns import LanguageData, languages_with, load

# Characters of a text that is one question; what is longer is more.
LONGEST = 300
# Words at the beginning of a text that tell whom it is about.
_LEAD = 3
# The attribute of whom somebody goes to for something, and many speak of in passing.
CONTACT = "contact"


@dataclass(frozen=True, slots=True)
class AskedAttribute:
    """An attribute that a question asks for.

    Attributes:
        attribute: its name in the ontology.
        about: the words for whom or what, as they stand in the question, without articles.
        own: whether that is the user alone: "I", "my".
        former: whether the question asks how it was earlier.
        language: whose forms it fits.
    """

    attribute: str
    about: str
    own: bool
    former: bool = False
    language: str = "en"


def read_asked(question: str) -> list[AskedAttribute]:
    """Return the attributes that a question asks for; none for what is no such question."""
    if len(question) > LONGEST:
        return []
    text = question.replace("'", "’")
    found = {each for code in languages_in(text) for each in _forms(code).read(text)}
    return sorted(found, key=lambda each: (each.attribute, each.about))


@lru_cache(maxsize=2_048)
def relation_nouns(text: str) -> Mapping[str, str]:
    """Return the words for people and animals in a text, plain, each with its attribute."""
    words = " ".join(bare_words(text.replace("\u2019", " ").replace("'", " ")))
    languages = [language_of(code) for code in languages_with("facts")]
    told = [(language.nouns, f" {language.plain(words)} ") for language in languages]
    return {
        noun: attribute
        for nouns, plain in told
        for noun, (attribute, _) in nouns.items()
        if f" {noun} " in plain
    }


def begins_with_another(text: str, known: str) -> bool:
    """Return whether a text begins with a relative of whom what is ``known`` does not tell.

    "My mum's number is …" answers nothing that was asked of the speaker alone.
    """
    words = bare_words(text.replace("\u2019", "'"))
    lead, things = " ".join(words[:_LEAD]), language_of(languages_in(text)[0]).words["own_things"]
    told, others = ({*relation_nouns(each).values()} for each in (lead, known))
    alone = "'s " in lead or (things and things.isdisjoint(words[_LEAD:]))
    return bool(alone and told - others - {CONTACT})


def tells_of_others(text: str, question: str) -> bool:
    """Return whether a text tells of people, and of none of those whom a question is about."""
    told, asked = ({*relation_nouns(each).values()} for each in (text, question))
    return bool(told and asked) and told.isdisjoint(asked)


class _QuestionForms:
    """The forms of one language, compiled once."""

    def __init__(self, code: str) -> None:
        self._language = language = language_of(code)
        data = LanguageData(code, "questions", {RELATION: lambda: language.fragments[RELATION]})
        asks = load(code, "questions")["asks"].items()
        rows = [(names, form) for names, forms in asks for form in forms]
        # By the place of a form: the attributes that it asks for.
        self._names = [names for names, _ in rows]
        self._forms = FormSet((form for _, form in rows), FormFragments(data.source))
        self._former = compile_form(data.source("formerly"))
        self._own = data.words("own_words")
        self._small = (self._own | language.function_words).difference(language.nouns)

    def read(self, text: str) -> Iterator[AskedAttribute]:
        """Yield the attributes that a question asks for."""
        text = self._language.fold(text)
        former = self._former.search(text) is not None
        for place, form in self._forms.find(text):
            match = form.search(text)
            groups = group_texts(match, text) if match else {}
            whom = groups.get("whom", "").replace("\u2019s", "").replace("\u2019", "")
            plain = bare_words(whom)
            about = " ".join(word for word in plain if word not in self._small)
            own = not about and (not plain or not self._own.isdisjoint(plain))
            noun = groups.get("noun", "").casefold()
            for name in self._names[place].split() if match and (own or about) else ():
                # "Who is my boss?" asks for the manager.
                asked = self._language.nouns.get(noun, ("", ""))[0] if name == RELATION else name
                if asked:
                    yield AskedAttribute(asked, about, own, former, self._language.code)


_forms = cache(_QuestionForms)
