"""Where one task ends and the next begins (R5.1, workflow 3).

A task ends where somebody said so: the caller or the user by a marker, or a completion statement
and then a request that leans on nothing before it. There a finished task can be pruned whole
(R5.2, R6.4). That only the topic seems to shift ends nothing.

A request that leans on what was said before may not be cut off from it. A wrong cut costs an
agent what it needs, a missed one only some tokens. So any sign of a link counts: a word that
points back, a name or number that was used before, and, where the request does not announce
something new by its form, any word in common. The words are English; so are the signals without
which no request is looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from memoranda.conversation.signals import Signals, excerpt, signals
from memoranda.model.models import Message
from memoranda.text.patterns import LanguageData, compile_pattern

STEM = 5  # letters of a word that count: "booking" and "booked" are one
SHORTEST = 3  # letters of a word with a meaning of its own
TURN_ENDS = 300  # characters that are read for words at each end of a longer turn

_ENGLISH = LanguageData("en", "tasks")
_WORD = compile_pattern(r"[^\W_]+")
_UNSPACED = compile_pattern(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")


def content_words(text: str) -> frozenset[str]:
    """Return the words of a lower-case text that mean something alone, cut to ``STEM`` letters.

    In scripts without spaces these are pairs of characters.
    """
    words = _WORD.findall(text)
    stop = _ENGLISH.words("stop_words")
    found = {word[:STEM] for word in words if len(word) >= SHORTEST and word not in stop}
    if not text.isascii():
        for run in _UNSPACED.findall(text):
            found.update(run[at : at + 2] for at in range(len(run) - 1))
    return frozenset(found)


KNOWN = 2_000  # names, and words, of a task that are remembered
UNREAD = 500  # messages whose names are still to be looked for
READ = 1_000  # characters of each end of a longer text that are searched for names
LONG_NUMBER = 3  # digits from which a number stands for one thing
ALONE = 2  # content words from which a request can be understood by itself

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
        """Start without any: a new task begins."""
        self._unread: deque[str] = deque(maxlen=UNREAD)
        self._names: dict[str, None] = {}
        self._words: dict[str, None] = {}

    def take(self, message: Message) -> None:
        """Remember a message, its calls' arguments too, and its content words."""
        texts = (message.content, *[call.arguments for call in message.tool_calls])
        self._unread.extend(excerpt(text, READ, READ) for text in texts if text)
        ends = excerpt(message.content, TURN_ENDS, TURN_ENDS)
        _remember(self._words, content_words(ends.lower()))

    def hold(self, message: Message) -> bool:
        """Return whether a user's request leans on the task before it."""
        request = _without_thanks(message)
        first = _RELATIVE.sub(" ", request.partition("\n")[0])
        if _REPLIES.match(message.content) or _POINTS.search(first) or _RETURNS.search(request):
            return True
        # Few messages are asked about, so names are only looked for when one is.
        while self._unread:
            _remember(self._names, _names(self._unread.popleft()))
        if (
            _names(excerpt(request, READ, READ)) - set(_FIRST.findall(request))
        ) & self._names.keys():
            return True
        if _ANNOUNCES.search(request):
            return False
        words = content_words(request.lower())
        known = bool(words & self._words.keys())
        return known or len(words) < ALONE or _GOES_ON.match(f" {request}") is not None


def _names(text: str) -> set[str]:
    """Return the words that name something: capitalized ones, numbers, files, identifiers."""
    return {
        token
        for token in _TOKEN.findall(text)
        if (len(token) >= LONG_NUMBER if token.isdecimal() else len(token) > 1)
        and not (token.isalpha() and token == token.lower())
    }


def _without_thanks(message: Message) -> str:
    """Return a user's text without the thanks and praise that it begins with."""
    clauses = [clause for clause in _CLAUSES.split(message.content) if clause.strip()]
    while len(clauses) > 1 and _only_thanks(replace(message, content=clauses[0])):
        del clauses[0]
    return "\n".join(clauses)


def _only_thanks(clause: Message) -> bool:
    said = signals(clause)
    if said.directive or said.opening or said.references:
        return False
    thanks = said.casual or said.completion or _THANKS.match(clause.content) is not None
    return thanks or not content_words(clause.content.lower())


def _remember(known: dict[str, None], new: Iterable[str]) -> None:
    for each in new:
        known.pop(each, None)  # so that what is said again counts as new
        known[each] = None
    if len(known) > 2 * KNOWN:
        for old in list(known)[:-KNOWN]:
            del known[old]


SHORTLY = 3  # turns that may stand between a completion statement and the next request
ENDING = 300  # characters at the end of an answer in which it asks back
LONGEST_TITLE = 80  # characters
WAITING = 256  # calls whose results are waited for at a time

_OFFERS = _ENGLISH.pattern("offers")
_CONTINUES = _ENGLISH.pattern("continues")


@dataclass(frozen=True, slots=True)
class Boundary:
    """Why a task begins where it does: the one before it ends there, and may go.

    Attributes:
        why: in words.
        title: of the task that begins, where a marker gives one.
    """

    why: str
    title: str | None = None


START = Boundary("the conversation begins")


class Segmenter:
    """Says of each message whether a task begins with it, from those before it alone.

    A message costs the same at any length of the conversation. Not thread-safe.

    Only a user's message begins a task, and a system message with a marker. Where the
    caller names a task (``Message.task``), one begins with that message whoever wrote it;
    on a tool's message, or an assistant's while results are due, the mark waits for the next
    that may part. A user's message between a call and its result parts them by a marker alone.
    """

    def __init__(self, read: Callable[[Message], Signals] = signals) -> None:
        """Start before the first message; ``read`` returns the signals of one."""
        self._read = read
        self._links = TaskLinks()
        self._heard: deque[Message] = deque(maxlen=SHORTLY + 1)  # last turns and calls of the task
        self._due: dict[str, None] = {}  # ids of calls without results
        self._mark: str | None = None  # a task's title that waits
        self._begun = False  # whether anybody but the system spoke
        self._asked = False  # whether a user spoke in this task

    def add(self, message: Message) -> Boundary | None:
        """Return the boundary before ``message``, the next of the transcript, or ``None``."""
        talks = message.role in {"user", "assistant"}
        spoken = talks and bool(message.content.strip())
        asks = spoken and message.role == "user"
        boundary = self._marked(message)
        if boundary is None and asks and not self._due:
            boundary = self._after_completion(message)
        if boundary is not None:
            self._asked = False
            self._links = TaskLinks()
            self._heard.clear()
        self._take_calls(message)
        self._begun |= message.role != "system"
        self._asked |= asks
        if talks:
            self._links.take(message)
        if spoken or (talks and message.tool_calls):
            self._heard.append(message)
        return boundary

    @property
    def completed(self) -> bool:
        """Whether one of the last turns says that the task is complete, and no work followed."""
        for message in reversed(self._heard):
            said = self._read(message)
            asked = message.role == "user" and (said.directive or said.opening)
            if message.tool_calls or asked:
                return False
            goes_on = message.role == "assistant" and _CONTINUES.search(message.content)
            if said.completion and not goes_on:
                return True
        return False

    def _marked(self, message: Message) -> Boundary | None:
        if message.task is not None:
            self._mark = message.task
        opens = message.role in {"user", "system"}
        if self._mark is not None and (opens or (message.role != "tool" and not self._due)):
            title, self._mark = self._mark or None, None
            return Boundary("the caller says so", title)
        if opens and self._begun and self._read(message).explicit:
            title = message.content.strip().partition("\n")[0].lstrip("#* ")[:LONGEST_TITLE]
            return Boundary("a marker says so", title)
        return None

    def _after_completion(self, message: Message) -> Boundary | None:
        """Return the boundary before a user's message that asks for something after a done task.

        Not before one that asks for nothing, reports a failure, corrects, refers to what was
        said, sets a rule for what is done, or may answer a question.
        """
        said = self._read(message)
        if not self._asked or said.references or said.error or said.correction:
            return None
        if not said.opening and (not said.directive or said.constraint or self._was_asked()):
            return None
        if not (said.completion or self.completed) or self._links.hold(message):
            return None
        how = "opens something new" if said.opening else "asks for something unrelated"
        return Boundary(f"the task before was said to be complete; the user {how}")

    def _was_asked(self) -> bool:
        """Return whether the last turn is a question about the task."""
        last = self._heard[-1] if self._heard else None
        if last is None or last.role != "assistant":
            return False
        end = last.content[-ENDING:]
        return "?" in end and _OFFERS.search(end) is None

    def _take_calls(self, message: Message) -> None:
        if message.tool_result is not None:
            self._due.pop(message.tool_result.call_id, None)
        elif message.tool_calls:
            self._due.update((call.id, None) for call in message.tool_calls)
            for old in list(self._due)[:-WAITING]:
                del self._due[old]
        elif message.role == "assistant":
            self._due.clear()  # it speaks again, so it waits no longer
