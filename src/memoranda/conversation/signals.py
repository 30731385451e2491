"""Signals of a message's importance, read from the message alone (R4.2, R4.3).

An instruction, a rule, a decision, an error, a correction, small talk: the signals decide what a
message is worth, what stays when others leave, and where tasks begin. They are read from words
and forms, without a model. Where a text is not understood there is no signal, rather than a
wrong one.

What people say stands in ``languages/<code>/signals.toml``, as forms for each signal; the README
there explains them. A text is read sentence by sentence in plain writing (:func:`write_plain`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from memoranda.conversation.failures import begins_with_failure, says_failed, shows_failure
from memoranda.facts.forms import FormFragments, FormSet, compile_form
from memoranda.model.models import Message
from memoranda.text.patterns import (
    LanguageData,
    any_of,
    compile_pattern,
    compile_scanner,
    expand,
    languages_with,
    load,
)

_GAP = 6  # most words that {gap} stands for
HEAD, TAIL = 2_500, 1_500  # characters that are read of a longer text

# Accents of Latin, Greek and Cyrillic letters, vowels of Arabic, apostrophes.
_MARKS = compile_scanner("[\u0300-\u036f\u064b-\u0655\u2018\u2019\u02bc]")
_TOKENS = compile_scanner(
    r"\w++(?:\.\w++)*+|[,;:\u3001\u060c\u061b\u2013\u2014]|(?<= )-(?= )|[.!?\n\u3002\u0964\u061f]"
)
_WORD = compile_scanner(r"\w++")
_ENDS = frozenset(".!?\n\u3002\u0964\u061f")
_QUESTION_MARKS = "?\u061f"
_ASKING = ("吗", "嗎", "呢", "か")  # what ends a question, with or without a mark
_PARTS = {"lead", "filler"}  # what stands before or beside something else, and signals nothing
_NOT = "not_"
_DOUBTS = {"user": {"if"}, "assistant": {"if", "when"}}  # after these an error did not happen
_UNASKED = frozenset({"completion", "finished", "done", "decision"})  # what a question does not say
_UNASKED_ALONE = _UNASKED | {"imperative", "rule"}  # nor one that requests nothing
_INSTRUCTIONS = frozenset({"imperative", "request", "rule"})
_TALK = frozenset({"casual", "asking", "done", "if", "when"})  # what small talk may signal
_ASKS = _INSTRUCTIONS | {"opening", "asking"}  # what follows where a user leaves a task
_CODE = compile_pattern(r"```.*?(?:```|\Z)|^[ \t]*>.*$|###\w+###", re.DOTALL | re.MULTILINE)


def excerpt(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Return the text, or head and tail of one that is longer than both."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def prose(text: str) -> str:
    """Return the text without code blocks, quoted lines and control marks (``###STOP###``)."""
    if "```" in text or ">" in text or "###" in text:
        return _CODE.sub("\n", text)
    return text


def fold(text: str) -> str:
    """Return the text without case, accents and apostrophes."""
    if not text.isascii():
        bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
        text = unicodedata.normalize("NFC", bare)
    return text.lower().replace("'", "")


def write_plain(text: str) -> str:
    """Return a text in plain writing, a sentence a line: `` ok, use app.py, ``.

    Before each word stands a space, after the last a comma and a space, and a "?" if it asks.
    A colon, a semicolon and a dash separate as a comma does.
    """
    lines, words = [], list[str]()
    for word in (*_TOKENS.findall(fold(prose(text))), "."):
        if word not in _ENDS:
            words.append(word if word[0].isalnum() or word[0] == "_" else ",")
        elif words:
            asks = word in _QUESTION_MARKS or words[-1].endswith(_ASKING)
            lines.append(f" {' '.join(words)}, ".replace(" ,", ",") + "?" * asks)
            words.clear()
    return "\n".join(lines)


class SignalPlace(NamedTuple):
    """Where a text in plain writing signals something."""

    name: str
    start: int
    end: int


class SignalForms:
    """The forms by which one language says what a role can signal."""

    def __init__(self, code: str, role: str, common: frozenset[str] = frozenset()) -> None:
        """Make ready what ``languages/<code>/signals.toml`` says of a role.

        Args:
            code: the language.
            role: who speaks.
            common: words that do not show the language.
        """
        data = load(code, "signals")
        self.spaced = data.get("spaced", True)
        self._lists: Mapping[str, str] = data.get("lists", {})
        self._forms: dict[str, list[str]] = defaultdict(list)
        for table in (data.get("both", {}), data.get(role, {})):
            for name, forms in table.items():
                lines = map(str.strip, fold(forms).replace("(", "(?:").split("\n"))
                self._forms[name] += filter(None, lines)
        self._names = [
            name for name, forms in self._forms.items() if name not in _PARTS for _ in forms
        ]
        written = [*self._lists.values(), *(form for some in self._forms.values() for form in some)]
        self.words = frozenset(_WORD.findall(fold(" ".join(written)))) - common

    @cached_property
    def _set(self) -> FormSet:
        forms = (form for name, some in self._forms.items() if name not in _PARTS for form in some)
        return FormSet(map(self._write, forms), FormFragments(self._fragment), "(?m)")

    def find(self, text: str) -> Iterator[SignalPlace]:
        """Yield what a text in plain writing signals; ``not_error`` tells what is no error."""
        found = [
            SignalPlace(self._names[place], *match.span())
            for place, form in self._set.find(text)
            for match in form.finditer(text)
        ]
        excepted = [each for each in found if each.name.startswith(_NOT)]
        for each in found:
            exception = _NOT + ("instruction" if each.name in _INSTRUCTIONS else each.name)
            if each not in excepted and not any(
                other.start <= each.start and each.end <= other.end
                for other in excepted
                if other.name == exception
            ):
                yield each

    def talk(self) -> str:
        """Return a form of what small talk consists of."""
        fragments = FormFragments(self._fragment)
        casual, filler = (expand(self._any(name), fragments) for name in ("casual", "filler"))
        if not self.spaced:
            return f"(?:{casual}|{filler}),? ?"
        # It can be followed by the name of who is greeted or thanked: "Hi Ana", "thanks Bo".
        return rf" (?:{casual}(?: [^ ,.0-9\n]+,)?|{filler}),?"

    def _fragment(self, name: str) -> str:
        if name in self._lists:
            return any_of(fold(self._lists[name]).split())
        if name == "start":
            return f"^(?: ?{self._any('lead', 'casual')},?)*"
        return {"word": r"[^ ,\n]+", "number": "[0-9]+", "gap": self._gap()}[name]

    def _gap(self) -> str:
        # Written out: of a fragment as long as this anything may stand in the loose form.
        return r"(?:[^ ,\n]+,? )?" * _GAP if self.spaced else r"[^,\n]{0,8}"

    def _any(self, *names: str) -> str:
        forms = (form.removeprefix("^") for name in names for form in self._forms[name])
        return f"(?:{'|'.join(forms)})".replace(" ", ",? ")

    def _write(self, form: str) -> str:
        """Return a form of the data file as RE2 takes it: a comma may stand after each word."""
        start = "{start}" if form.startswith("^") else ""
        form = form.removeprefix("^")
        spaced = f" (?:{form.replace(' ', ',? ')})[ ,]"
        return start + (spaced if self.spaced else f"(?:{form})")


@cache
def _languages(role: str) -> list[SignalForms]:
    english = SignalForms("en", role)
    others = (code for code in languages_with("signals") if code != "en")
    return [english, *(SignalForms(code, role, english.words) for code in others)]


def _used_languages(plain: str, role: str) -> tuple[SignalForms, ...]:
    """Return the languages in which a text can signal something: forms of others cost nothing."""
    words, foreign = set(_WORD.findall(plain)), not plain.isascii()
    return tuple(
        forms
        for forms in _languages(role)
        if not forms.words.isdisjoint(words) or (foreign and not forms.spaced)
    )


@cache
def _small_talk(languages: tuple[SignalForms, ...]) -> Any:
    """Return the form of a text that is nothing but small talk in some languages."""
    talk = "|".join(f"(?:{forms.talk()})" for forms in languages)
    return compile_form(rf"(?:(?:{talk})* ?[?]?\n?)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The signals of a message: a directive, an error, a correction and so on.

    Attributes:
        tool_call: it calls tools.
        tool_result: it answers a call.
        directive: a user's instruction, rule or request for action.
        constraint: a rule or preference that outlives the task; always a directive, too.
        decision: something is settled: "We decided to use Postgres", "Let's go with option B".
        error: an error message, or the report that something failed.
        correction: what was said before was wrong or is made clear.
        references: how often it refers to earlier messages.
        casual: greetings, thanks and small talk, and nothing else.
        completion: something is done: the assistant says so, or the user is content.
        finished: a task as a whole is done, says the assistant, or the user is through with it.
        opening: the user turns to something new.
        announcement: the user says in so many words that something else comes: "Moving on.", or
            that something is done and then what is next; always an opening, too.
        explicit: a marker such as ``New task: …`` or ``=== Task 2 ===``; always an announcement.
    """

    tool_call: bool = False
    tool_result: bool = False
    directive: bool = False
    constraint: bool = False
    decision: bool = False
    error: bool = False
    correction: bool = False
    references: int = 0
    casual: bool = False
    completion: bool = False
    finished: bool = False
    opening: bool = False
    announcement: bool = False
    explicit: bool = False


NONE = Signals()
_SHORT = 80  # characters of the longest message that can be made of signs alone
_EXPLICIT = LanguageData("mul", "tasks").pattern("explicit", re.VERBOSE | re.IGNORECASE)


def signals(message: Message) -> Signals:
    """Return the signals of a message, from its role, content, calls and result alone.

    Pure. Of a very long content only head and tail are read.
    """
    if message.role in {"user", "assistant"}:
        found = signals_of(message.content, message.role)
        calls = message.role == "assistant" and bool(message.tool_calls)
        casual = found.casual and not message.tool_calls and not message.images
        return replace(found, tool_call=calls, casual=casual)
    if message.role == "tool" or message.tool_result is not None:
        marked = message.tool_result is not None and message.tool_result.is_error
        return Signals(tool_result=True, error=marked or says_failed(message.content))
    return NONE


def signals_of(text: str, role: str) -> Signals:
    """Return the signals of what a ``user`` or the ``assistant`` says: a message or a sentence."""
    text = excerpt(text)
    user = role == "user"
    explicit = user and _EXPLICIT.match(text) is not None
    failed = shows_failure(text) if user else begins_with_failure(text)
    plain = write_plain(text)
    languages = _used_languages(plain, role)
    said = _read_plain(plain, role, [each for forms in languages for each in forms.find(plain)])
    announces = explicit or "announcement" in said or _leaves_task(said)
    talks = not explicit and not failed and said.keys() <= _TALK
    signs = 0 < len(text.strip()) <= _SHORT and not any(sign.isalnum() for sign in text)
    courtesy = "casual" in said and _small_talk(languages).fullmatch(plain) is not None
    return Signals(
        directive=explicit or not said.keys().isdisjoint(_INSTRUCTIONS),
        constraint="rule" in said,
        decision="decision" in said,
        error=failed or "error" in said,
        correction="correction" in said,
        references=_count_apart(said["reference"]),
        casual=talks and (signs or courtesy),
        completion="completion" in said or "finished" in said,
        finished="finished" in said,
        opening=announces or "opening" in said,
        announcement=announces,
        explicit=explicit,
    )


def _read_plain(
    plain: str, role: str, found: Sequence[SignalPlace]
) -> Mapping[str, list[SignalPlace]]:
    """Return what was found in a text by name, without what did not happen or is only asked."""
    doubts = {
        "error": [each.start for each in found if each.name in _DOUBTS[role]],
        "completion": [each.start for each in found if each.name in _DOUBTS["assistant"]],
        "decision": [each.start for each in found if each.name == "if"],
    }
    requests = {plain.rfind("\n", 0, each.end) for each in found if each.name == "request"}
    said = defaultdict(list)
    for each in found:
        line, end = plain.rfind("\n", 0, each.end), plain.find("\n", each.end)
        if any(line < doubt < each.start for doubt in doubts.get(each.name, ())):
            continue
        asks = plain.endswith("?") if end < 0 else plain[end - 1] == "?"
        if asks and each.name in (_UNASKED if line in requests else _UNASKED_ALONE):
            continue
        said[each.name].append(each)
    return said


def _leaves_task(said: Mapping[str, list[SignalPlace]]) -> bool:
    """Return whether a user is done with something, and then asks for something else.

    After the end of a task that may be anything, after something else that is done only an opening.
    """
    return any(
        min(said[end]).start < max(said[ask]).start
        for end, asks in (("finished", _ASKS), ("done", {"opening"}))
        for ask in asks
        if end in said and ask in said
    )


def _count_apart(places: Sequence[SignalPlace]) -> int:
    """Return how many of some places do not overlap one before."""
    count, end = 0, -1
    for place in sorted(places):
        count += place.start >= end - 1
        end = max(end, place.end)
    return count
