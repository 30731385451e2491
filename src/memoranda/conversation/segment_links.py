"""Whether a request leans on what was said before: then it may not be cut off from it.

A wrong cut costs an agent what it needs, a missed one only some tokens. So any sign of a link
counts: a word that points back, a name or number that was used before, and, where the request
does not announce something new by its form, any word in common. The words are English; so are
the signals without which no request is looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from memoranda.conversation.cohesion import content_words
from memoranda.conversation.signals import signals
from memoranda.model.models import Message
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern

KNOWN = 2_000  # names, and words, of a task that are remembered
UNREAD = 500  # messages whose names are still to be looked for
READ = 1_000  # characters of each end of a longer text that are searched for names
LONG_NUMBER = 3  # digits from which a number stands for one thing
ALONE = 2  # content words from which a request can be understood by itself

_ENGLISH = LanguageData("en", "topics")
_CLAUSES = _ENGLISH.pattern("clauses")
_ANNOUNCES = _ENGLISH.pattern("announces")
_THANKS = _ENGLISH.pattern("thanks")
_REPLIES = _ENGLISH.pattern("replies")
_POINTS = _ENGLISH.pattern("points")
_RELATIVE = _ENGLISH.pattern("relative")
_RETURNS = _ENGLISH.pattern("returns")
_GOES_ON = _ENGLISH.pattern("goes_on")  # what one does with a thing that was just made
_TOKEN = compile_pattern(r"\w+(?:[./]\w+)*")
_FIRST = compile_pattern(r"(?:^|[.!?:\n]\s*|[\"“(])([A-Z][a-z]+)\b")


class TaskLinks:
    """The names and words of the current task, the newest of them. Not thread-safe."""

    def __init__(self) -> None:
        """Start without any."""
        self._unread: deque[str] = deque(maxlen=UNREAD)
        self._names: dict[str, None] = {}
        self._words: dict[str, None] = {}

    def clear(self) -> None:
        """Forget them: a new task begins."""
        self._unread.clear()
        self._names.clear()
        self._words.clear()

    def take(self, message: Message, words: Iterable[str]) -> None:
        """Remember a message, its calls' arguments too, and its content words."""
        texts = (message.content, *[call.arguments for call in message.tool_calls])
        self._unread.extend(_ends(text) for text in texts if text)
        _remember(self._words, words)

    def why(self, message: Message) -> str | None:
        """Return what ties a user's request to the task before it, ``None`` if nothing does."""
        if reply := _REPLIES.match(message.content):
            return f"{reply[0].strip()!r} replies"
        request = strip_acknowledgements(message)
        if back := _pointer(request):
            return f"{back!r} points back"
        if named := self._named(request):
            return f"{min(named)!r} was named before"
        return None if _ANNOUNCES.search(request) else self._common(request)

    def _named(self, request: str) -> set[str]:
        # Few messages are asked about, so names are only looked for when one is.
        while self._unread:
            _remember(self._names, names(self._unread.popleft()))
        return (names(request) - set(_FIRST.findall(request))) & self._names.keys()

    def _common(self, request: str) -> str | None:
        if onward := _GOES_ON.match(f" {request}"):
            return f"{onward[0].strip()!r} goes on with it"
        words = content_words(request.lower())
        if common := words & self._words.keys():
            return f"{min(common)!r} was said before"
        return "it says too little by itself" if len(words) < ALONE else None


def names(text: str) -> set[str]:
    """Return the words that name something: capitalized ones, numbers, files, identifiers."""
    return {token for token in _TOKEN.findall(_ends(text)) if _names(token)}


def _ends(text: str) -> str:
    return text if len(text) <= 2 * READ + 1 else f"{text[:READ]}\n{text[-READ:]}"


def _names(token: str) -> bool:
    if token.isdecimal():
        return len(token) >= LONG_NUMBER
    return len(token) > 1 and not (token.isalpha() and token == token.lower())


def strip_acknowledgements(message: Message) -> str:
    """Return a user's text without the thanks and praise that it begins with."""
    clauses = [clause for clause in _CLAUSES.split(message.content) if clause.strip()]
    while len(clauses) > 1 and _only_acknowledges(replace(message, content=clauses[0])):
        del clauses[0]
    return "\n".join(clauses)


def _only_acknowledges(clause: Message) -> bool:
    said = signals(clause)
    if said.directive or said.opening or said.references:
        return False
    thanks = said.casual or said.completion or _THANKS.match(clause.content) is not None
    return thanks or not content_words(clause.content.lower())


def _pointer(request: str) -> str | None:
    first = _RELATIVE.sub(" ", request.partition("\n")[0])
    found = _POINTS.search(first) or _RETURNS.search(request)
    return found[0] if found else None


def _remember(known: dict[str, None], new: Iterable[str]) -> None:
    for each in new:
        known.pop(each, None)  # so that what is said again counts as new
        known[each] = None
    if len(known) > 2 * KNOWN:
        for old in list(known)[:-KNOWN]:
            del known[old]
