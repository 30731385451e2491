"""Signals of a message's importance, read from the message alone (requirements R4.2, R4.3).

An instruction, a rule, a decision, an error, a correction, small talk: the signals decide what a
message is worth, what stays when others leave, and where tasks begin. They are read from words
and forms, without a model. Where a text is not understood there is no signal, rather than a
wrong one.

Outputs of tools and programs tell by their form that something failed (R4.2): an error message
begins a line, or stands in a form that nothing else has. A JSON object is judged by its top-level
members alone, because the texts in it may say anything.

What people say stands in ``languages/<code>/signals.toml``, as forms for each signal; the README
there explains them. A text is read sentence by sentence in plain writing (:func:`write_plain`).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from memoranda.facts.forms import FormFragments, FormSet, compile_form
from memoranda.model.models import Message
from memoranda.text.patterns import (
    LanguageData,
    LinearMatch,
    any_of,
    compile_pattern,
    compile_scanner,
    expand,
    languages_with,
    load,
)

_GAP = 6  # most words that {gap} stands for
READ = 2_000  # characters of each end that are read of a longer text

# Accents of Latin, Greek and Cyrillic letters, vowels of Arabic, apostrophes.
_MARKS = compile_scanner("[\u0300-\u036f\u064b-\u0655\u2018\u2019\u02bc']")
_TOKENS = compile_scanner(
    r"\w++(?:\.\w++)*+|[,;:\u3001\u060c\u061b\u2013\u2014]|(?<= )-(?= )|[.!?\n\u3002\u0964\u061f]"
)
_WORD = compile_scanner(r"\w++")
_ENDS = frozenset(".!?\n\u3002\u0964\u061f")
_QUESTION_MARKS = "?\u061f"
_ASKING = ("吗", "嗎", "呢", "か")  # what ends a question, with or without a mark
_PARTS = {"lead", "filler"}  # what stands before or beside something else, and signals nothing
_NOT = "not_"
_DOUBTED = {"error", "decision"}  # what did not happen after an "if" in the sentence
_UNASKED = {"finished", "done", "decision"}  # what a question does not say
_UNASKED_ALONE = _UNASKED | {"imperative", "rule"}  # nor one that requests nothing
_INSTRUCTIONS = frozenset({"imperative", "request", "rule"})
_ENDINGS = frozenset({"finished", "done"})  # an opening beside one of them announces it
_TALK = frozenset({"casual", "done", "if"})  # what small talk may signal
_CODE = compile_pattern(r"```.*?(?:```|\Z)|^[ \t]*>.*$|###\w+###", re.DOTALL | re.MULTILINE)


def excerpt(text: str, size: int = READ) -> str:
    """Return the text, or so many characters of each end of one that is longer than both."""
    return text if len(text) <= 2 * size else f"{text[:size]}\n{text[-size:]}"


def fold(text: str) -> str:
    """Return the text without case, accents and apostrophes."""
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare)


def write_plain(text: str) -> str:
    """Return a text in plain writing, a sentence a line: `` ok, use app.py, ``.

    Without code blocks, quoted lines and control marks (``###STOP###``). Before each word stands
    a space, after the last a comma and a space, and a "?" if it asks.
    A colon, a semicolon and a dash separate as a comma does.
    """
    lines, words = [], list[str]()
    for word in (*_TOKENS.findall(fold(_CODE.sub("\n", text))), "."):
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
        """Read what ``languages/<code>/signals.toml`` says of a role.

        Args:
            code: the language.
            role: who speaks.
            common: words that do not show the language.
        """
        data = load(code, "signals")
        self.spaced = data.get("spaced", True)
        self._lists = {name: fold(words) for name, words in data.get("lists", {}).items()}
        self._forms: dict[str, list[str]] = defaultdict(list)
        for table in (data.get("both", {}), data.get(role, {})):
            for name, forms in table.items():
                # A comma may stand after each word.
                lines = fold(forms).strip().replace("(", "(?:").split("\n")
                self._forms[name] += [line.strip().replace(" ", ",? ") for line in lines]
        words = " ".join([*self._lists.values(), *chain.from_iterable(self._forms.values())])
        self.words = frozenset(_WORD.findall(words)) - common
        signs = (name for name in self._forms if name not in _PARTS)
        self._signs = [(name, form) for name in signs for form in self._forms[name]]

    @cached_property
    def _fragments(self) -> FormFragments:
        # The gap is written out: of so long a fragment anything may stand in the loose form.
        gap = r"(?:[^ ,\n]+,? )?" * _GAP if self.spaced else r"[^,\n]{0,8}"
        start = f"^(?: ?(?:{self._any('lead', 'casual')}),?)*"
        parts = {"word": r"[^ ,\n]+", "number": "[0-9]+", "gap": gap, "start": start}
        lists = {name: any_of(words.split()) for name, words in self._lists.items()}
        return FormFragments({**parts, **lists}.__getitem__)

    @cached_property
    def _set(self) -> FormSet:
        before, after = (" (?:", ")[ ,]") if self.spaced else ("(?:", ")")
        forms = (
            "{start}" * form.startswith("^") + before + form.removeprefix("^") + after
            for _, form in self._signs
        )
        return FormSet(forms, self._fragments, "(?m)")

    @cached_property
    def small_talk(self) -> Any:
        """The form of a text that is nothing but small talk."""
        # A name may follow, of who is greeted or thanked: "Hi Ana", "thanks Bo".
        casual = rf"(?:{self._any('casual')})(?: [^ ,.0-9\n]+,)?"
        talk = rf"(?: ?(?:{casual}|{self._any('filler')}),? ?[?]?\n?)*"
        return compile_form(expand(talk, self._fragments))

    def find(self, text: str) -> Iterator[SignalPlace]:
        """Yield what a text in plain writing signals, but for what `not_` forms except."""
        found = [
            SignalPlace(self._signs[place][0], *match.span())
            for place, form in self._set.find(text)
            for match in form.finditer(text)
        ]
        excepted = [each for each in found if each.name.startswith(_NOT)]
        for name, start, end in found:
            exception = _NOT + ("instruction" if name in _INSTRUCTIONS else name)
            if not name.startswith(_NOT) and not any(
                other.name == exception and other.start <= start and end <= other.end
                for other in excepted
            ):
                yield SignalPlace(name, start, end)

    def _any(self, *names: str) -> str:
        return "|".join(form.removeprefix("^") for name in names for form in self._forms[name])


@cache
def _languages(role: str) -> list[SignalForms]:
    english = SignalForms("en", role)
    others = (code for code in languages_with("signals") if code != "en")
    return [english, *(SignalForms(code, role, english.words) for code in others)]


def _used_languages(plain: str, role: str) -> list[SignalForms]:
    """Return the languages in which a text can signal something: forms of others cost nothing."""
    words, foreign = set(_WORD.findall(plain)), not plain.isascii()
    return [
        forms
        for forms in _languages(role)
        if not forms.words.isdisjoint(words) or (foreign and not forms.spaced)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The signals of a message: a directive, an error, a correction and so on.

    Attributes:
        directive: a user's instruction, rule or request for action.
        constraint: a rule or preference that outlives the task; always a directive, too.
        decision: something is settled: "We decided to use Postgres", "Let's go with option B".
        error: an error message, or the report that something failed.
        correction: what was said before was wrong or is made clear.
        references: how many of its sentences refer to earlier messages.
        casual: greetings, thanks and small talk, and nothing else.
        finished: a task as a whole is done, says the assistant, or the user is through with it.
        opening: the user turns to something new.
        announcement: the user says in so many words that something else comes: "Moving on.", or
            that something is done, and opens something new; always an opening, too.
        explicit: a marker such as ``New task: …`` or ``=== Task 2 ===``; always an announcement.
    """

    directive: bool = False
    constraint: bool = False
    decision: bool = False
    error: bool = False
    correction: bool = False
    references: int = 0
    casual: bool = False
    finished: bool = False
    opening: bool = False
    announcement: bool = False
    explicit: bool = False


NONE = Signals()
_SHORT = 80  # characters of the longest message that can be made of signs alone
_EXPLICIT = LanguageData("mul", "tasks").explicit


def signals(message: Message) -> Signals:
    """Return the signals of a message, from its role, content, calls and result alone.

    Pure. Of a very long content only head and tail are read.
    """
    if message.role in {"user", "assistant"}:
        found = signals_of(message.content, message.role)
        return replace(found, casual=False) if message.tool_calls or message.images else found
    if message.role == "tool":
        marked = message.tool_result is not None and message.tool_result.is_error
        return Signals(error=marked or says_failed(message.content))
    return NONE


def signals_of(text: str, role: str) -> Signals:
    """Return the signals of what a ``user`` or the ``assistant`` says: a message or a sentence."""
    text = excerpt(text)
    user = role == "user"
    explicit = user and _EXPLICIT.match(text) is not None
    failed = shows_failure(text) if user else begins_with_failure(text)
    plain = write_plain(text)
    languages = _used_languages(plain, role)
    said = _count_sentences(plain, chain.from_iterable(each.find(plain) for each in languages))
    opening = explicit or not said.keys().isdisjoint({"opening", "announcement"})
    announces = explicit or "announcement" in said or (opening and bool(said.keys() & _ENDINGS))
    signs = 0 < len(text.strip()) <= _SHORT and not any(sign.isalnum() for sign in text)
    courtesy = "casual" in said and any(forms.small_talk.fullmatch(plain) for forms in languages)
    return Signals(
        directive=explicit or not said.keys().isdisjoint(_INSTRUCTIONS),
        constraint="rule" in said,
        decision="decision" in said,
        error=failed or "error" in said,
        correction="correction" in said,
        references=said["reference"],
        casual=(signs or courtesy) and not explicit and not failed and said.keys() <= _TALK,
        finished="finished" in said,
        opening=opening,
        announcement=announces,
        explicit=explicit,
    )


def refers_to_earlier(text: str) -> bool:
    """Return whether a user asks for what was said before, or refers to it."""
    plain = write_plain(excerpt(text))
    found = (each for forms in _used_languages(plain, "user") for each in forms.find(plain))
    return any(each.name == "earlier" for each in found)


def _count_sentences(plain: str, found: Iterable[SignalPlace]) -> Counter[str]:
    """Return in how many sentences there is each signal that was found in a text.

    What did not happen, or is only asked, is not there.
    """
    sentences = defaultdict[int, list[SignalPlace]](list)
    for each in found:
        sentences[plain.rfind("\n", 0, each.end) + 1].append(each)
    said = Counter[str]()
    for start, places in sentences.items():
        doubt = min((each.start for each in places if each.name == "if"), default=inf)
        names = {each.name for each in places if each.name not in _DOUBTED or each.start < doubt}
        if plain[start:].partition("\n")[0].endswith("?"):
            names -= _UNASKED if "request" in names else _UNASKED_ALONE
        said.update(names)
    return said


# What failed

_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_VALUE = 40  # characters of a member of a JSON object that are looked at
_BARE = str.maketrans("", "", "_-")
_JSON = ("{", "[{", '["')  # how JSON begins, or what is left of it

_FAILURES = LanguageData("mul", "failures")
_PRINTED = LanguageData("mul", "failures", flags=0)


def shows_failure(text: str) -> bool:
    """Return whether a text has lines in it that a program printed because something failed."""
    if not _PRINTED.hint.search(text.lower()):
        return False
    lines = (line.strip() for line in text.split("\n", _LINES) if line)
    printed = any(map(begins_with_failure, lines))
    return printed or any(not found["code"] for found in _PRINTED.anywhere.finditer(text))


def says_failed(result: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    text = result.lstrip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        cut = text.startswith(_JSON)
        return _fails(_FAILURES.whole.match(text)) or (not cut and shows_failure(text))
    members = value.items() if isinstance(value, dict) else ()
    texts = (f"{name.translate(_BARE)}={member!s:.{_VALUE}}" for name, member in members)
    return any(_fails(_FAILURES.member.match(text)) for text in texts)


def _fails(found: LinearMatch | None) -> bool:
    """Return whether a form of failure was found, with no value that says that nothing failed."""
    return found is not None and (
        found["value"] is None or not _FAILURES.nothing.match(found["value"])
    )


def begins_with_failure(text: str) -> bool:
    """Return whether a text as a whole is an error message."""
    found = _PRINTED.printed.match(text[:_ROOM].lstrip())
    subject = found["subject"] if found else None
    denied = subject and subject.split()[0] in _FAILURES.words("no_subjects")
    return found is not None and not denied
