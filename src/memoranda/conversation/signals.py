"""Signals of a message's importance, read from the message alone (R4.2, R4.3).

An instruction, a rule, an error, a correction, small talk: the signals decide what a message is
worth and where tasks begin and end. They are read from words and forms, without a model. Where
a text is not understood there is no signal, rather than a wrong one.

Reading a text costs one look-up a word, however many phrases there are. They stand in
``languages/<code>/signals.txt``, in this notation::

    # a remark
    @name = words               a list of words; @name stands for any of them
    [user, assistant: error]    who has to say the phrases below, and what they mean
        a phrase; another

In a phrase ``(a|b c)`` is one of several, ``[a|b]`` one of them or none; ``*`` is any word,
``...`` up to five words, ``@number`` digits, ``$`` the end of a sentence or a comma, ``^`` its
start (or what follows a lead such as "ok, thanks,"). Case, accents, apostrophes and, unless a
phrase has one, commas do not count. What they mean is named as in ``Cue``:

- ``request``, ``imperative``, ``rule``: a user instructs; in a question only a request does.
- ``error``, ``correction``, ``reference``, ``completion``, ``opening``: as in ``Signals``.
- ``if``, ``when``: an error or a completion after it in the sentence did not happen.
- ``decision``: something is settled; for summaries.
- ``casual``: small talk; ``filler``: may stand beside it; ``lead``: stands before a sentence.
- ``nothing``: silences the phrases that begin at the same word and are not longer.

The output of a program that failed is known line by line: an error message begins a line, or
stands in a form that nothing else has. A JSON object is judged by its top-level members alone,
because the texts in it may say anything.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from memoranda.model.models import Message
from memoranda.text.patterns import (
    LanguageData,
    compile_pattern,
    compile_scanner,
    languages_with,
    read_text,
)

END = "$"
HEAD, TAIL = 2_500, 1_500  # characters that are read of a longer text

_HAN_AND_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_ENDS = frozenset(".!?\n")
_ASKING = frozenset("吗嗎呢か")  # what ends a question, with or without a mark
_WORDS = compile_scanner(r"\w++(?:\.\w++)*+|[,.!?\n]")
_WORDS_WITHOUT_SPACES = compile_scanner(
    rf"[^\W{_HAN_AND_KANA}]++(?:\.[^\W{_HAN_AND_KANA}]++)*+|[{_HAN_AND_KANA}]|[,.!?\n]"
)
_ACCENT = compile_scanner("[\u0300-\u036f\u064b-\u0655]")
_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc\u00b4'", ""),
        **dict.fromkeys(";:", ","),
        **dict.fromkeys("\u2014\u2013\uff0c\uff1a\uff1b\u3001\u060c\u061b", " , "),
        **dict.fromkeys("\u3002\u0964\uff01", ". "),
        **dict.fromkeys("\u061f\uff1f", "? "),
    }
)
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
    """Return the text without case, accents and apostrophes, with plain punctuation.

    A colon, a semicolon and a dash separate as a comma does.
    """
    if not text.isascii():
        bare = _ACCENT.sub("", unicodedata.normalize("NFKD", text.casefold().translate(_MARKS)))
        text = unicodedata.normalize("NFC", bare)
    plain = text.lower().replace("'", "").replace(";", ",").replace(":", ",")
    return plain.replace(" - ", " , ")


def words(folded: str) -> list[str]:
    """Return the words, commas and sentence ends of folded text.

    A name such as ``app.py`` is one word, and so is each character of Chinese.
    """
    pattern = _WORDS if folded.isascii() else _WORDS_WITHOUT_SPACES
    return pattern.findall(folded)


def sentences(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words of each sentence of ``text``, END last, and whether it asks."""
    found: list[str] = []
    for word in (*words(fold(text)), "."):
        if word not in _ENDS:
            found.append(word)
        elif found:
            asks = word == "?" or found[-1] in _ASKING
            found.append(END)
            yield found, asks
            found = []


_GROUP = compile_scanner(r"\(([^()]*+)\)|\[([^][]*+)\]")
_PART = compile_scanner(r"@\w++|\.\.\.|[*^$]|[^\s@*^$]++")
_HEADING = compile_scanner(r"\[([a-z, ]++): (\w++)\]")
_ROLES = ("user", "assistant")
GAP = 5  # most words that SOME stands for
ANY, SOME, NUMBER, FIRST = "*", "...", "@number", "^"


class Cue:
    """What a phrase signals: powers of two. The files of phrases name these in lower case."""

    NOTHING = 1
    LEAD = 2
    FILLER = 4
    IMPERATIVE = 8
    REQUEST = 16
    RULE = 32
    ERROR = 64
    CORRECTION = 128
    REFERENCE = 256
    CASUAL = 512
    COMPLETION = 1024
    OPENING = 2048
    DECISION = 4096
    IF = 8192
    WHEN = 16384


_STOPS = frozenset({",", END})
_TALK = Cue.CASUAL | Cue.FILLER | Cue.LEAD


_NONE: dict[str, PhraseNode] = {}  # shared by the many nodes that nothing follows


class PhraseNode:
    """What can follow some words, and what they say by themselves."""

    __slots__ = ("after", "cues", "open")

    def __init__(self) -> None:
        """Make a place that nothing follows yet."""
        self.after: dict[str, PhraseNode] = _NONE
        self.cues = 0
        self.open = False  # whether lists or unknown words can follow


class Lexicon:
    """The phrases of one role, as a tree that a text is matched against."""

    def __init__(self) -> None:
        """Start without phrases."""
        self._roots = (PhraseNode(), PhraseNode())  # anywhere, and at the start of a sentence
        self._lists: dict[str, tuple[str, ...]] = {}
        self._begin: set[str] = set()  # the words that a phrase can begin with

    def define(self, name: str, members: Iterable[str]) -> None:
        """Let ``name`` stand for each of its members in phrases that are added."""
        for member in members:
            self._lists[member] = (*self._lists.get(member, ()), name)

    def add(self, phrase: Sequence[str], cues: int) -> None:
        """Add a phrase, as its words; FIRST before them ties it to the start of a sentence."""
        tied = phrase[0] == FIRST
        node = self._roots[tied]
        for word in phrase[tied:]:
            node.open = node.open or word[0] == "@" or word in {ANY, SOME, END}
            node.after = node.after or {}
            node = node.after.setdefault(sys.intern(word), PhraseNode())
        node.cues |= cues

    def seal(self) -> None:
        """Note which words begin a phrase, when all have been added."""
        heads = {word for root in self._roots for word in root.after}
        listed = {word for word, names in self._lists.items() if not heads.isdisjoint(names)}
        self._begin = heads | listed

    def match(self, words: Sequence[str], at: int, *, first: bool) -> tuple[int, int]:
        """Return where the longest phrase that begins at ``at`` ends, and the cues of all.

        A phrase that says NOTHING silences those that are not longer, but for small talk.
        Without any phrase the end is ``at`` and there are no cues. ``first`` says that a
        sentence begins here.
        """
        if words[at] not in self._begin:
            return at, 0
        paths: list[tuple[PhraseNode, int]] = []
        self._follow(self._roots[0], words, at, paths)
        if first:
            self._follow(self._roots[1], words, at, paths)
        said = []
        for node, place in paths:  # grows while it is walked
            if node.cues:
                said.append((place, node.cues))
            if node.after and place < len(words):
                known = len(paths)
                self._follow(node, words, place, paths)
                comma = words[place] == "," and len(paths) == known
                if comma and words[place + 1 : place + 2] not in ([], [","]):
                    self._follow(node, words, place + 1, paths)
        end, silent, cues = at, at, 0
        for place, here in said:
            end = max(end, place)
            if here & Cue.NOTHING:
                silent = max(silent, place)
        for place, here in said:
            cues |= here if place > silent else here & _TALK
        return end, cues

    def _follow(
        self, node: PhraseNode, words: Sequence[str], at: int, paths: list[tuple[PhraseNode, int]]
    ) -> None:
        """Add to ``paths`` where the words from ``at`` lead."""
        word, after = words[at], node.after
        if word in after:
            paths.append((after[word], at + 1))
        if node.open:
            names = self._lists.get(word, ())
            paths += [(after[name], at + 1) for name in names if name in after]
            if END in after and word in _STOPS:
                paths.append((after[END], at))
            if ANY in after and word not in _STOPS:
                paths.append((after[ANY], at + 1))
            if NUMBER in after and word.isdecimal():
                paths.append((after[NUMBER], at + 1))
            if SOME in after:
                most = min(GAP, len(words) - at)
                paths += [(after[SOME], at + skipped) for skipped in range(most + 1)]


@cache
def lexicons() -> dict[str, Lexicon]:
    """Return the phrases of all languages by role. They are not changed any more."""
    made = {role: Lexicon() for role in _ROLES}
    for code in languages_with("signals"):
        _read(read_text(code, "signals.txt"), made)
    for book in made.values():
        book.seal()
    return made


def _read(text: str, into: dict[str, Lexicon]) -> None:
    name, cue, roles = "", 0, list[str]()
    for line in text.splitlines():
        said = line.partition("#")[0].rstrip()
        heading = _HEADING.fullmatch(said)
        if heading:
            name, cue, roles = "", getattr(Cue, heading[2].upper()), heading[1].split(", ")
        elif said.startswith("@"):
            name, _, said = (part.strip() for part in said.partition("="))
        if name:
            members = words(fold(said))
            for book in into.values():
                book.define(name, members)
        elif cue and not heading:
            for phrase in (variant for part in said.split(";") for variant in variants(part)):
                for role in roles:
                    into[role].add(phrase, cue)


def variants(phrase: str) -> Iterator[list[str]]:
    """Yield all word sequences that a phrase in the notation stands for."""
    pieces: list[list[list[str]]] = []
    end = 0
    for group in _GROUP.finditer(phrase):
        required, optional = group.groups()
        choices = required.split("|") if required is not None else ["", *optional.split("|")]
        pieces += [[_parts(phrase[end : group.start()])], [_parts(choice) for choice in choices]]
        end = group.end()
    pieces.append([_parts(phrase[end:])])
    for choice in product(*pieces):
        found = [word for part in choice for word in part]
        if found:
            yield found


def _parts(phrase: str) -> list[str]:
    found: list[str] = []
    for part in _PART.findall(phrase):
        if part in {FIRST, END, ANY, SOME} or part.startswith("@"):
            found.append(part)
        else:
            found += words(fold(part))
    return found


_PARSED = 20_000  # characters of the longest JSON that is parsed
_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_FIRST_FAILURE, _LAST_FAILURE = 400, 599  # HTTP status codes

_PATTERNS = LanguageData("mul", "failures")
_HINT = _PATTERNS.pattern("hint", 0)
_PRINTED = _PATTERNS.pattern("printed", re.VERBOSE)
_ANYWHERE = _PATTERNS.pattern("anywhere", re.VERBOSE | re.MULTILINE)
_FAILED = _PATTERNS.pattern("whole")
_MEMBER = _PATTERNS.pattern("member")
_LIST = compile_pattern(r"\[\s*(?:[\[\]{\"]|-?\d[\d.]*\s*[,\]])")  # the start of a JSON array
_TELLING = compile_pattern(r"rror|xception|uccess|\"ok\"|ailed|tatus|ode\"|xit|esult|tate|raceback")


def shows_failure(text: str) -> bool:
    """Return whether a text has lines in it that a program printed because something failed."""
    if not _HINT.search(text.lower()):
        return False
    lines = (line.strip() for line in text.split("\n", _LINES) if line)
    printed = any(_PRINTED.match(line, 0, _ROOM) for line in lines)
    return printed or _ANYWHERE.search(text) is not None


def says_failed(result: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    text = result.lstrip()
    if _LIST.match(text):
        return False
    if not text.startswith("{"):
        return _FAILED.match(text) is not None or shows_failure(excerpt(text))
    if len(text) > _PARSED or not _TELLING.search(text):
        return _MEMBER.match(text) is not None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _MEMBER.match(text) is not None
    return any(_says_failed(name, member, value) for name, member in value.items())


def begins_with_failure(text: str) -> bool:
    """Return whether a text as a whole is an error message."""
    return _PRINTED.match(text[:_ROOM].lstrip()) is not None


def _says_failed(name: str, member: Any, value: Mapping[str, Any]) -> bool:
    """Return whether a member of a JSON object says that something failed."""
    key = name.lower().replace("_", "").replace("-", "")
    number = member if type(member) is int else None
    said = member.strip().lower() if isinstance(member, str) else None
    if key == "code" and not value.keys() & {"message", "detail", "error", "status"}:
        return False  # a code of anything else
    if key in _PATTERNS.words("failure_members"):
        return bool(member) if said is None else said not in _PATTERNS.words("good_words")
    if key in _PATTERNS.words("status_members"):
        failed = number is not None and _FIRST_FAILURE <= number <= _LAST_FAILURE
        return failed or said in _PATTERNS.words("bad_words")
    if key in _PATTERNS.words("exit_members"):
        return bool(number)
    good, bad = (_PATTERNS.words(each) for each in ("success_members", "flag_members"))
    return (key in good and member is False) or (key in bad and member is True)


_UNASKED = Cue.RULE | Cue.IMPERATIVE
_INSTRUCTION = Cue.REQUEST | _UNASKED
_OPEN = _INSTRUCTION | Cue.ERROR | Cue.CORRECTION | Cue.OPENING
_BEYOND_TALK = _OPEN | Cue.COMPLETION
_COVERED = Cue.CASUAL | Cue.FILLER
_WHOLE = _COVERED | Cue.REFERENCE | Cue.COMPLETION  # nothing is looked for inside these alone
_BEFORE_SENTENCE = Cue.LEAD | Cue.CASUAL | Cue.COMPLETION | Cue.OPENING
_EITHER = Cue.IF | Cue.WHEN
_SHORT = 80  # characters of the longest message that can be made of signs alone
_EXPLICIT = LanguageData("mul", "tasks").pattern("explicit", re.VERBOSE | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The signals of a message: a directive, an error, a correction and so on.

    Attributes:
        tool_call: it calls tools.
        tool_result: it answers a call.
        directive: a user's instruction, rule or request for action.
        constraint: a rule or preference that outlives the task; always a directive, too.
        error: an error message, or the report that something failed.
        correction: what was said before was wrong or is made clear.
        references: how often it refers to earlier messages.
        casual: greetings, thanks and small talk, and nothing else.
        completion: something is done: the assistant says so, or the user is content.
        opening: the user turns to something new.
        explicit: a marker such as ``New task: …`` or ``=== Task 2 ===``; always an opening, too.
    """

    tool_call: bool = False
    tool_result: bool = False
    directive: bool = False
    constraint: bool = False
    error: bool = False
    correction: bool = False
    references: int = 0
    casual: bool = False
    completion: bool = False
    opening: bool = False
    explicit: bool = False


NONE = Signals()


def signals(message: Message) -> Signals:
    """Return the signals of a message, from its role, content, calls and result alone.

    Pure. Of a very long content only head and tail are read.
    """
    if message.role in {"user", "assistant"}:
        return _of_speaker(message)
    if message.role == "tool" or message.tool_result is not None:
        marked = message.tool_result is not None and message.tool_result.is_error
        return Signals(tool_result=True, error=marked or says_failed(message.content))
    return NONE


def _of_speaker(message: Message) -> Signals:
    user, text = message.role == "user", excerpt(message.content)
    words = read_words(text, message.role) if text else WordSignals()
    cues = words.cues
    explicit = user and _EXPLICIT.match(text) is not None
    failed = shows_failure(text) if user else begins_with_failure(text)
    failing = bool(cues & Cue.ERROR) or failed
    return Signals(
        tool_call=not user and bool(message.tool_calls),
        directive=explicit or bool(cues & _INSTRUCTION),
        constraint=bool(cues & Cue.RULE),
        error=failing,
        correction=bool(cues & Cue.CORRECTION),
        references=words.references,
        casual=not explicit and not failing and _is_small_talk(message, words),
        completion=bool(cues & Cue.COMPLETION),
        opening=explicit or bool(cues & Cue.OPENING),
        explicit=explicit,
    )


def _is_small_talk(message: Message, words: WordSignals) -> bool:
    if message.tool_calls or message.images or words.references or words.cues & _BEYOND_TALK:
        return False
    if words.cues & Cue.CASUAL:
        return words.substance == 0
    said = message.content.strip()
    return 0 < len(said) <= _SHORT and not any(sign.isalnum() for sign in said)


@dataclass(slots=True)
class WordSignals:
    """What was found in the words of a message.

    Attributes:
        cues: all cues in it, as the sum of their values.
        references: how often it refers to what was said before.
        substance: how many words belong neither to small talk nor to what may go with it.
    """

    cues: int = 0
    references: int = 0
    substance: int = 0


def read_words(text: str, role: str) -> WordSignals:
    """Return the cues in a message of ``role`` (``user`` or ``assistant``)."""
    book = lexicons()[role]
    doubts = Cue.IF if role == "user" else _EITHER
    found = WordSignals()
    for words, asks in sentences(prose(text)):
        cues = _sentence(words, book, doubts, found)
        if asks:
            cues &= ~(Cue.COMPLETION if cues & Cue.REQUEST else Cue.COMPLETION | _UNASKED)
        found.cues |= cues
    return found


def _sentence(words: Sequence[str], book: Lexicon, doubts: int, found: WordSignals) -> int:
    """Return the cues of a sentence. ``doubts`` are those after which an error did not happen."""
    at, cues, last, first, before, opened = 0, 0, 0, True, found.substance, 0
    while at < len(words) - 1:
        end, here = book.match(words, at, first=first)
        if not here:
            if words[at] == ",":
                first = first or found.substance == before or at in {opened - 1, opened}
            else:
                # It can be the name of who is greeted or thanked: "Hi Ana", "thanks Bo".
                named = words[at].isalpha() and words[at + 1] in _STOPS
                found.substance += not (last & Cue.CASUAL and named)
                first = False
            last, at = 0, max(end, at + 1)
            continue
        if cues & doubts:
            here &= ~Cue.ERROR
        if cues & _EITHER:
            here &= ~Cue.COMPLETION
        found.references += bool(here & Cue.REFERENCE)
        found.substance += not here & _COVERED
        cues |= here
        if here & Cue.OPENING:
            opened = end
        last, at = here, end if here & _WHOLE and not here & _OPEN else at + 1
        leads = first and here & _BEFORE_SENTENCE
        first = bool(leads or (here & Cue.REFERENCE and words[at] == ","))
    return cues
