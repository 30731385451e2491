"""Questions: whether a text asks, and for what: how things are now or were, and which values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memoranda.text.patterns import LanguageData, WordLists
from memoranda.text.terms import TermAnalyzer, fold, normalize

LONGEST_QUESTION = 200  # characters of a question without its mark

_TOPIC = "questions"
_WORDS = WordLists(_TOPIC)
_ASKS = ("?", "\uff1f", "\u061f")
# Around a question.
_EDGE = " .\t\n\"'”’»)]*_"

ANALYZER = TermAnalyzer()  # What makes terms, as it made those of the index.
ASKED = LanguageData("en", _TOPIC)


def asks(text: str) -> bool:
    """Return whether a text ends as a question does, or begins as one where it has no mark."""
    text = text.rstrip(_EDGE)
    if text.endswith(_ASKS):
        return True
    if len(text) > LONGEST_QUESTION or text.endswith("!"):
        return False
    if ASKED.unmarked.search(text) is not None:
        return True
    clause = ASKED.unmarked_clause.search(text)
    return clause is not None and ASKED.answered.search(text) is None


def names_assistant(question: str) -> bool:
    """Return whether a question asks for what the assistant said: "What did you suggest?"."""
    words = question.casefold().replace("’", "'").rstrip("?").split()
    return not _WORDS.assistant_words.isdisjoint(words) and _WORDS.own_words.isdisjoint(words)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, as far as it matters which of two answers is the newer.

    Attributes:
        text: normalised.
        words: all its terms.
        terms: those that tell something.
        beginnings: what the inflections of its telling words begin with.
        past: whether it is about how things were.
        former: whether it asks what was so before something changed.
    """

    text: str
    words: frozenset[str]
    terms: frozenset[str]
    beginnings: tuple[str, ...]
    past: bool
    former: bool

    @classmethod
    def read(cls, query: str, terms: Collection[str], *, ended: bool = False) -> ParsedQuestion:
        """Return what a question asks for.

        Args:
            query: the question.
            terms: those of its terms that tell something.
            ended: whether it names a time that is over.
        """
        text, generic = normalize(query), ASKED.words("generic")
        former = ASKED.before.search(text) is not None
        stems = [term for term in terms if not any(each.startswith(term) for each in generic)]
        return cls(
            text=" ".join(text.split()),
            words=frozenset(ANALYZER.terms(text)),
            terms=frozenset(terms),
            beginnings=tuple(term.removesuffix("i") for term in stems),
            past=ended or former or is_past(query),
            former=former,
        )

    def share(self, sentence: str) -> float:
        """Return which share of its telling words ``sentence`` holds, at little cost."""
        text = fold(sentence)
        held = sum(beginning in text for beginning in self.beginnings)
        return held / max(len(self.beginnings), 1)


def is_past(query: str) -> bool:
    """Return whether a question is about how things were."""
    text = normalize(query)
    done = ASKED.done.search(text)
    if done is not None and (done["verb"] or "").strip() not in ASKED.words("telling"):
        text = f"{done['counted']}do {text[done.start('who') :]}"  # What is done goes on.
    return ASKED.past.search(text) is not None
