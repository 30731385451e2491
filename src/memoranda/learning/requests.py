"""What a person asks memory to keep, and how they want to be answered, in their own words.

Several statements of one request are several facts. What a request is about may stand in the
sentences around it, or in what the same person said before. Only a person's own words count:
what is quoted, cited, code or a text to work on was taken out before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from memoranda.facts.ontology import attributes
from memoranda.facts.reader import MASK, FactStatement, fits_any, read_facts
from memoranda.facts.requests import (
    INSTRUCTIONS,
    WHERE_ALONE,
    Request,
    RequestKind,
    asks_to_keep,
    find_requests,
    is_aside,
    is_for_once,
    only_names,
    read_instruction,
    read_revocation,
    shows,
    split_statements,
    tidy,
)
from memoranda.learning.claims import Category, Turn
from memoranda.learning.exclusions import is_joke, is_override
from memoranda.learning.sentences import SentencePart, own_sentences
from memoranda.model.models import ROLES
from memoranda.text.patterns import encodable
from memoranda.text.secrets import secret_kind

_LEAST_WORDS = 3
_LEAST_LETTERS = 5
# The kind of secret that is kept where a person asks to.
_CODE = "a PIN or code"
SECRET = "it seems to hold a secret; only this conversation has it"  # noqa: S105 - no password
SUPPOSED = "it only supposes something, and is no fact"
NAMED = "it names something, and does not say what it is"
JOKE = "it seems to be a joke"
WITHHELD = "you asked not to keep it"
OVERRIDES = "it would override what the assistant goes by"


class ClaimDraft(NamedTuple):
    """A claim before its dates.

    Attributes:
        content: the sentence that is written down.
        category: what kind of statement it is.
        fact: its attribute and value, where they could be read.
        said: the words that tell when it happened, if these are not its content.
    """

    content: str
    category: Category
    fact: FactStatement | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that is not carried out: what it is about, and why."""

    content: str
    because: str


@dataclass(slots=True)
class TurnRequests:
    """What the requests of one turn come to.

    Attributes:
        drafts: what is to be kept, and instructions given and taken back.
        refused: what is not kept.
        covered: places of the sentences that this says all of.
    """

    drafts: list[ClaimDraft] = field(default_factory=list)
    refused: list[RefusedRequest] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)


def read_requests(
    turn: Turn, earlier: Sequence[Turn], sentences: Sequence[SentencePart]
) -> TurnRequests:
    """Return what the sentences of a turn ask of memory: only what an assistant is told can."""
    if not turn.person or turn.speaker not in ROLES or not asks_to_keep(turn.text):
        return TurnRequests()
    before = next((each.text for each in reversed(earlier) if each.speaker == turn.speaker), "")
    return _RequestReader(encodable(turn.text), sentences, encodable(before)).read()


class _RequestReader:
    def __init__(self, text: str, sentences: Sequence[SentencePart], before: str) -> None:
        self._text, self._sentences, self._before = text, sentences, before
        real = [each for each in sentences if not fits_any("unreal", each.shown)]
        self._all = [
            find_requests(each.shown, question=each.question) if each in real else []
            for each in sentences
        ]
        self._found = [next(iter(each), None) for each in self._all]
        self._out = TurnRequests()

    def read(self) -> TurnRequests:
        for place, requests in enumerate(self._all):
            for request in requests if place not in self._out.covered else ():
                if request.kind is RequestKind.REMEMBER:
                    self._remember(place, request)
                else:
                    self._instruct(place, request)
        return self._out

    # Statements to keep

    def _remember(self, place: int, request: Request) -> None:
        sentence = self._sentences[place]
        self._out.covered.add(place)
        pieces = [
            SentencePart(sentence.shown[start:end], sentence.start + start, question=False)
            for start, end in split_statements(request, sentence.shown)
            if request.end > request.start
        ]
        if not any(tidy(self._said(each), request.language) for each in pieces):
            self._elsewhere(place, request)
            return
        for piece in pieces:
            self._keep(piece, self._text, request.language)

    def _elsewhere(self, place: int, request: Request) -> None:
        """Keep what stands before a bare request, or after it, where it opens a list."""
        opens = self._said(self._sentences[place]).rstrip().endswith((":", "\uff1a"))
        behind = () if opens else range(place - 1, -1, -1)
        ahead = range(place + 1, len(self._sentences))
        found = self._reaching(behind, request) or self._reaching(ahead, request, every=True)
        self._out.covered |= set(found)
        for each in found:
            self._keep(self._sentences[each], self._text, request.language)
        if self._before and place == 0 and not found:
            earlier = list(own_sentences(self._before))
            reader = _RequestReader(self._before, earlier, "")
            for each in reader._reaching(range(len(earlier) - 1, -1, -1), request):
                self._keep(earlier[each], self._before, request.language)

    def _reaching(
        self, places: Iterable[int], request: Request, *, every: bool = False
    ) -> list[int]:
        """Return the places of the statements a request is about, on one side of it."""
        found: list[int] = []
        for place in places:
            if not self._tells(place, request.language, listed=every):
                break
            found.append(place)
            shown = self._sentences[place].shown
            if not (every or shows("pointing", shown, request.language)):
                break
        return sorted(found)

    def _tells(self, place: int, language: str, *, listed: bool = False) -> bool:
        """Return whether a sentence may be what a request beside it is about.

        Args:
            place: where it stands.
            language: of the request.
            listed: whether it follows the request, where fewer words do.
        """
        sentence = self._sentences[place]
        if sentence.question or self._found[place] is not None:
            return False
        content = tidy(self._said(sentence), language)
        few = listed or shows("pointing", content, language)
        unspaced = len(content) >= _LEAST_LETTERS and not content.isascii()
        return unspaced or len(content.split()) >= _LEAST_WORDS - few

    def _keep(self, part: SentencePart, text: str, language: str) -> None:
        """Keep one statement in its own words, or refuse it."""
        said = text[part.start : part.end]
        content = tidy(said, language)
        if not content:
            return
        if because := _refusal(content, language):
            self._out.refused.append(RefusedRequest(_without_secret(content), because))
            return
        # What hangs on a statement is no part of a value; what is quoted cannot be read.
        facts = read_facts(part.shown, said) if MASK in part.shown else read_facts(content)
        first = replace(facts[0], content=content) if facts else None
        self._out.drafts.append(ClaimDraft(content, Category.REMEMBER, first))

    # Instructions

    def _instruct(self, place: int, request: Request) -> None:
        """Keep an instruction that lasts, or end one that is taken back."""
        shown = self._sentences[place].shown
        alone = request.kind in WHERE_ALONE
        if is_for_once(shown, request.language) or (alone and not self._is_alone(place, request)):
            return
        if request.kind is RequestKind.MANNER and not self._opens(request.language):
            return
        said = self._said(self._sentences[place])
        facts = [each for each in read_facts(shown, said) if each.attribute not in INSTRUCTIONS]
        self._out.covered.add(place)
        about = shown[request.start : request.end]
        if request.kind is not RequestKind.REVOKED and shows("leaning", about, request.language):
            # "I can't stand leeks, so never put them in a recipe": of what, stands before.
            request = replace(request, start=0)
        self._instructed(request, said)
        for reason in facts:
            category = Category(attributes()[reason.attribute].category)
            self._out.drafts.append(ClaimDraft(reason.content, category, reason))

    def _instructed(self, request: Request, said: str) -> None:
        about = said[request.start : request.end]
        if is_override(said) or _is_secret(about):
            because = SECRET if _is_secret(about) else OVERRIDES
            content = tidy(_without_secret(about), request.language)
            self._out.refused.append(RefusedRequest(content, because))
            return
        if request.kind is RequestKind.REVOKED:
            content = tidy(said[request.lead :], request.language)
            fact = read_revocation(about, content, request.language)
        else:
            content = tidy(about, request.language)
            fact = read_instruction(about, content, request.language)
        if content:
            self._out.drafts.append(ClaimDraft(content, Category.INSTRUCTION, fact))

    def _is_alone(self, place: int, request: Request) -> bool:
        """Return whether a message says little beside one instruction, and sets no task."""
        first = self._found[place] or request
        pairs = zip(self._sentences, self._found, strict=True)
        others = [each for each, found in pairs if found is None]
        beside = [self._sentences[place].shown[: first.lead], *(each.shown for each in others)]
        questions = any(each.question for each in others)
        return not questions and all(is_aside(each, first.language) for each in beside)

    def _opens(self, language: str) -> bool:
        """Return whether the same person set no task before this message."""
        earlier = list(own_sentences(self._before))
        return bool(earlier or not self._before.strip()) and all(
            not each.question and (find_requests(each.shown) or is_aside(each.shown, language))
            for each in earlier
        )

    def _said(self, part: SentencePart) -> str:
        return self._text[part.start : part.end]


def _refusal(content: str, language: str) -> str:
    """Return why a statement is not kept; empty where it is."""
    reasons = (
        (SECRET, _is_secret(content)),
        (SUPPOSED, shows("hypothetical", content, language)),
        (NAMED, only_names(content, language)),
        (OVERRIDES, is_override(content)),
        (JOKE, is_joke(content)),
    )
    return next((reason for reason, holds in reasons if holds), "")


def _is_secret(content: str) -> bool:
    """Return whether a text holds what is not kept even when asked: no code, but a password."""
    return secret_kind(content) not in {None, _CODE}


def _without_secret(content: str) -> str:
    """Return what a receipt may show of what was refused: nothing of a secret."""
    return "" if _is_secret(content) else content
