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
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag, auto
from functools import cache, reduce
from itertools import product
from operator import or_
from typing import Any, NamedTuple

from memoranda.model.models import Message
from memoranda.text.languages import LanguageData, languages_with, read_text
from memoranda.text.patterns import compile_pattern

END = "$"
HEAD, TAIL = 2_500, 1_500  # characters that are read of a longer text

_HAN_AND_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_ENDS = frozenset(".!?\n")
_ASKING = frozenset("吗嗎呢か")  # what ends a question, with or without a mark
_WORDS = compile_pattern(r"\w+(?:\.\w+)*|[,.!?\n]")
_WORDS_WITHOUT_SPACES = compile_pattern(
    rf"[^\W{_HAN_AND_KANA}]+(?:\.[^\W{_HAN_AND_KANA}]+)*|[{_HAN_AND_KANA}]|[,.!?\n]"
)
_ACCENT = compile_pattern("[\u0300-\u036f\u064b-\u0655]")
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


def excerpt(text: str) -> str:
    """Return the text, or head and tail of one that is very long."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"


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


_GROUP = compile_pattern(r"\(([^()]*)\)|\[([^][]*)\]")
_PART = compile_pattern(r"@\w+|\.\.\.|[*^$]|[^\s@*^$]+")
_HEADING = compile_pattern(r"\[([a-z, ]+): (\w+)\]")
_ROLES = ("user", "assistant")
GAP = 5  # most words that SOME stands for
ANY, SOME, NUMBER, FIRST = "*", "...", "@number", "^"


class Cue(IntFlag):
    """What a phrase signals. The files of phrases name these in lower case."""

    NOTHING = auto()
    LEAD = auto()
    FILLER = auto()
    IMPERATIVE = auto()
    REQUEST = auto()
    RULE = auto()
    ERROR = auto()
    CORRECTION = auto()
    REFERENCE = auto()
    CASUAL = auto()
    COMPLETION = auto()
    OPENING = auto()
    DECISION = auto()
    IF = auto()
    WHEN = auto()


_NOTHING = Cue.NOTHING.value
_STOPS = frozenset({",", END})
_TALK = Cue.CASUAL.value | Cue.FILLER.value | Cue.LEAD.value


class PhraseNode:
    """What can follow some words, and what they say by themselves."""

    __slots__ = ("after", "cues", "open")

    def __init__(self) -> None:
        """Make a place that nothing follows yet."""
        self.after: dict[str, PhraseNode] = {}
        self.cues = 0
        self.open = False  # whether lists or unknown words can follow

    def follow(self, word: str) -> PhraseNode:
        """Return the place that ``word`` leads to, made if it is new."""
        if word in self.after:
            return self.after[word]
        self.open = self.open or word[0] == "@" or word in {ANY, SOME, END}
        made = self.after[word] = PhraseNode()
        return made


class PhraseStart(NamedTuple):
    """A word that begins phrases: what it says alone, and where it leads."""

    cues: int
    nodes: tuple[PhraseNode, ...]


class Lexicon:
    """The phrases of one role, as a tree that a text is matched against."""

    def __init__(self) -> None:
        """Start without phrases."""
        self._anywhere, self._first = PhraseNode(), PhraseNode()
        self._lists: dict[str, tuple[str, ...]] = {}
        self._starts: tuple[dict[str, PhraseStart], dict[str, PhraseStart]] = ({}, {})

    def define(self, name: str, members: Iterable[str]) -> None:
        """Let ``name`` stand for each of its members in phrases that are added."""
        for member in members:
            self._lists[member] = (*self._lists.get(member, ()), name)

    def add(self, phrase: Sequence[str], cues: int) -> None:
        """Add a phrase, as its words; FIRST before them ties it to the start of a sentence."""
        tied = phrase[0] == FIRST
        node = self._first if tied else self._anywhere
        for word in phrase[tied:]:
            node = node.follow(word)
        node.cues |= cues

    def seal(self) -> None:
        """Note which words begin a phrase, when all have been added."""
        plain, tied = self._leads(self._anywhere), self._leads(self._first)
        both = {word: plain.get(word, []) + tied.get(word, []) for word in {*plain, *tied}}
        self._starts = (_starts(plain), _starts(both))

    def _leads(self, root: PhraseNode) -> dict[str, list[PhraseNode]]:
        leads = {word: [node] for word, node in root.after.items() if word[0] != "@"}
        for word, names in self._lists.items():
            listed = [root.after[name] for name in names if name in root.after]
            if listed:
                leads[word] = leads.get(word, []) + listed
        return leads

    def match(self, words: Sequence[str], at: int, *, first: bool) -> tuple[int, int]:
        """Return where the longest phrase that begins at ``at`` ends, and the cues of all.

        A phrase that says NOTHING silences those that are not longer, but for small talk.
        Without any phrase the end is ``at`` and there are no cues. ``first`` says that a
        sentence begins here.
        """
        start = self._starts[first].get(words[at])
        if start is None:
            return at, 0
        alone, nodes = start
        paths: list[tuple[PhraseNode, int]] = []
        if nodes and at + 1 < len(words):
            word = words[at + 1]
            for node in nodes:
                if node.open or word in node.after or word == ",":
                    self._follow(node, words, at + 1, paths)
        if not paths and not alone & _NOTHING:
            return at + 1, alone
        said = [(at + 1, alone)] if alone else []
        for node, place in paths:  # grows while it is walked
            if node.cues:
                said.append((place, node.cues))
            if node.after and place < len(words):
                self._follow(node, words, place, paths)
        return _unsilenced(said, at)

    def _follow(
        self, node: PhraseNode, words: Sequence[str], at: int, paths: list[tuple[PhraseNode, int]]
    ) -> None:
        """Add to ``paths`` where the words from ``at`` lead."""
        word, after, known = words[at], node.after, len(paths)
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
        if word == "," and len(paths) == known and words[at + 1 : at + 2] not in ([], [","]):
            self._follow(node, words, at + 1, paths)


def _starts(leads: dict[str, list[PhraseNode]]) -> dict[str, PhraseStart]:
    return {
        word: PhraseStart(
            reduce(or_, (node.cues for node in nodes)), tuple(node for node in nodes if node.after)
        )
        for word, nodes in leads.items()
    }


def _unsilenced(said: Sequence[tuple[int, int]], at: int) -> tuple[int, int]:
    """Return the end of the longest phrase, and the cues that are not silenced."""
    if len(said) == 1 and not said[0][1] & _NOTHING:
        return said[0]
    end, silent, cues = at, at, 0
    for place, here in said:
        end = max(end, place)
        if here & _NOTHING:
            silent = max(silent, place)
    for place, here in said:
        cues |= here if place > silent else here & _TALK
    return end, cues


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
            name, cue, roles = "", Cue[heading[2].upper()].value, heading[1].split(", ")
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
    if any(_PRINTED.match(line, 0, _ROOM) for line in _lines(text)):
        return True
    return _ANYWHERE.search(text) is not None


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


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n", _LINES) if line]


def _says_failed(name: str, member: Any, value: Mapping[str, Any]) -> bool:
    """Return whether a member of a JSON object says that something failed."""
    key = name.lower().replace("_", "").replace("-", "")
    if key == "code" and not value.keys() & {"message", "detail", "error", "status"}:
        return False  # a code of anything else
    test = _TESTS.get(key)
    return test is not None and test(member)


def _is_something(member: Any) -> bool:
    if isinstance(member, str):
        return member.strip().lower() not in _PATTERNS.words("good_words")
    return bool(member)


def _is_bad_status(member: Any) -> bool:
    if isinstance(member, str):
        return member.lower() in _PATTERNS.words("bad_words")
    return type(member) is int and _FIRST_FAILURE <= member <= _LAST_FAILURE


def _is_nonzero(member: Any) -> bool:
    return type(member) is int and member != 0


_TESTS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("error", "errors", "err", "exception", "traceback"), _is_something),
    **dict.fromkeys(("errormessage", "errorcode"), _is_something),
    **dict.fromkeys(("success", "ok", "succeeded"), lambda member: member is False),
    **dict.fromkeys(("iserror", "failed", "haserror"), lambda member: member is True),
    **dict.fromkeys(("status", "statuscode", "code", "httpstatus"), _is_bad_status),
    **dict.fromkeys(("state", "result"), _is_bad_status),
    **dict.fromkeys(("exitcode", "returncode", "exitstatus"), _is_nonzero),
}


# As plain numbers: these are asked for at every word.
_LEAD, _CASUAL, _REFERENCE = Cue.LEAD.value, Cue.CASUAL.value, Cue.REFERENCE.value
_ERROR, _COMPLETION, _OPENING = Cue.ERROR.value, Cue.COMPLETION.value, Cue.OPENING.value
_RULE, _CORRECTION, _REQUEST = Cue.RULE.value, Cue.CORRECTION.value, Cue.REQUEST.value
_UNASKED = _RULE | Cue.IMPERATIVE.value
_INSTRUCTION = _REQUEST | _UNASKED
_BEYOND_TALK = _INSTRUCTION | _ERROR | _CORRECTION | _COMPLETION | _OPENING
_HAPPENED = _ERROR | _COMPLETION
_COVERED = _CASUAL | Cue.FILLER.value
_WHOLE = _COVERED | _REFERENCE | _COMPLETION  # nothing is looked for inside these alone
_OPEN = _INSTRUCTION | _ERROR | _CORRECTION | _OPENING
_BEFORE_SENTENCE = _LEAD | _CASUAL | _COMPLETION | _OPENING
_IF, _EITHER = Cue.IF.value, Cue.IF.value | Cue.WHEN.value
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
    if message.role == "user":
        return _of_user(message)
    if message.role == "assistant":
        return _of_assistant(message)
    if message.role == "tool" or message.tool_result is not None:
        return _of_tool(message)
    return NONE


def _of_user(message: Message) -> Signals:
    text = excerpt(message.content)
    words = read_words(text, "user")
    cues = words.cues
    explicit = _EXPLICIT.match(text) is not None
    failing = bool(cues & _ERROR) or shows_failure(text)
    return Signals(
        directive=explicit or bool(cues & _INSTRUCTION),
        constraint=bool(cues & _RULE),
        error=failing,
        correction=bool(cues & _CORRECTION),
        references=words.references,
        casual=not explicit and not failing and _is_small_talk(message, words),
        completion=bool(cues & _COMPLETION),
        opening=explicit or bool(cues & _OPENING),
        explicit=explicit,
    )


def _of_assistant(message: Message) -> Signals:
    words = read_words(excerpt(message.content), "assistant") if message.content else WordSignals()
    cues = words.cues
    failing = bool(cues & _ERROR) or begins_with_failure(message.content)
    return Signals(
        tool_call=bool(message.tool_calls),
        error=failing,
        correction=bool(cues & _CORRECTION),
        references=words.references,
        casual=not failing and _is_small_talk(message, words),
        completion=bool(cues & _COMPLETION),
    )


def _of_tool(message: Message) -> Signals:
    marked = message.tool_result is not None and message.tool_result.is_error
    return Signals(tool_result=True, error=marked or says_failed(message.content))


def _is_small_talk(message: Message, words: WordSignals) -> bool:
    if message.tool_calls or message.images or words.references or words.cues & _BEYOND_TALK:
        return False
    if words.cues & _CASUAL:
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
    doubts = _IF if role == "user" else _EITHER
    found = WordSignals()
    for words, asks in sentences(prose(text)):
        cues = _sentence(words, book, doubts, found)
        if asks:
            cues &= ~(_COMPLETION if cues & _REQUEST else _COMPLETION | _UNASKED)
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
                found.substance += not (last & _CASUAL and _is_name(words, at))
                first = False
            last, at = 0, max(end, at + 1)
            continue
        if here & _HAPPENED:
            here &= ~(_ERROR if cues & doubts else 0) & ~(_COMPLETION if cues & _EITHER else 0)
        found.references += bool(here & _REFERENCE)
        found.substance += not here & _COVERED
        cues |= here
        if here & _OPENING:
            opened = end
        last, at = here, end if here & _WHOLE and not here & _OPEN else at + 1
        first = bool(
            (first and here & _BEFORE_SENTENCE) or (here & _REFERENCE and words[at] == ",")
        )
    return cues


def _is_name(words: Sequence[str], at: int) -> bool:
    """Return whether a word can be the name of who is greeted or thanked: "Hi Ana", "thanks Bo"."""
    return words[at].isalpha() and words[at + 1] in {",", END}
