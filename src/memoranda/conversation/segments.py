"""Where one task or topic ends and the next begins (R5.1, workflow 3).

A boundary is strong where somebody said so: the caller or the user by a marker, or a
completion statement and then a request that leans on nothing before it. At those a finished
task can be pruned whole (R5.2, R6.4). Where only the topic seems to shift, the boundary is
weak: it groups messages, and nothing may be cut there for it.

A request that leans on what was said before may not be cut off from it. A wrong cut costs an
agent what it needs, a missed one only some tokens. So any sign of a link counts: a word that
points back, a name or number that was used before, and, where the request does not announce
something new by its form, any word in common. The words are English; so are the signals without
which no request is looked at.

How far a turn carries on the topic before it is told by lexical cohesion and cues. TextTiling
(Hearst 1997) compares the words of two blocks of text. A turn of a chat is too short for that
alone, so that its form counts too: an answer carries on, a question to the other after a remark of
one's own rarely does. What each of these weighs stands in ``languages/en/topics.toml``. In another
language cue words are not seen, and words in common, question marks, lengths and time decide alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import exp, log, log2
from typing import Literal

from memoranda.conversation.signals import Signals, signals
from memoranda.model.models import Message
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern

TURN_ENDS = 300  # characters that are read at each end of a longer turn
BLOCK = 3  # turns that a new one is compared with
STEM = 5  # letters of a word that count: "booking" and "booked" are one
SHORTEST = 3  # letters of a word with a meaning of its own
LONGEST = 30  # words beyond which a turn is not longer
GAP_FROM = timedelta(hours=1)  # a pause up to this says nothing
GAP_MOST = 8.0  # doublings: a pause of ten days says all that a pause can say
TOLD = 0.3  # log-odds from which evidence is named as a reason
REASONS = 3  # reasons that are named at most
NEW_TOPIC = 1 / 3  # probability from which a turn begins a topic: good for F1 and Pk at once
BIAS, GAP = "bias", "gap"

Weights = Mapping[str, float]
"""Log-odds of a new topic for each unit of the evidence of that name."""

_ENGLISH = LanguageData("en", "topics")
_WORD = compile_pattern(r"[^\W_]+")
_UNSPACED = compile_pattern(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+")
_YOU = _ENGLISH.pattern("you", 0)
_BACK = _ENGLISH.pattern("back", 0)
_WIDE = "\uff01\uff1f"  # ! and ? as Chinese and Japanese write them
_QUESTION = ("?", "\uff1f", "؟")
_ENDS = (". ", "! ", "? ", "؟ ", "\n", "。", *_WIDE)
_MARKS = f".!?؟。{_WIDE} \n\"'*)"


@dataclass(frozen=True, slots=True)
class TopicTurn:
    """The features of a message by which it is compared with others.

    Attributes:
        at: when it was said.
        words: its content words, cut to ``STEM`` letters; pairs of characters in scripts
            without spaces.
        last: those of its last sentence, which is where a turn leads to.
        length: its words, all of them.
        question: whether it asks something anywhere.
        asks: whether its last sentence does.
        asks_you: whether its last sentence asks the other something about himself.
        back: whether its last sentence has a pronoun that may point back.
    """

    at: datetime
    words: frozenset[str]
    last: frozenset[str]
    length: int
    question: bool
    asks: bool
    asks_you: bool
    back: bool

    @classmethod
    def of(cls, text: str, at: datetime) -> TopicTurn:
        """Read a text; of a long one its two ends, so that any takes about the same time."""
        text = shortened(text).lower()
        last = last_sentence(text)
        asks = any(mark in last for mark in _QUESTION)
        return cls(
            at=at,
            words=content_words(text),
            last=content_words(last),
            length=len(_WORD.findall(text)),
            question=asks or any(mark in text for mark in _QUESTION),
            asks=asks,
            asks_you=asks and _YOU.search(last) is not None,
            back=_BACK.search(last) is not None,
        )


def topic_weights() -> Weights:
    """Return the log-odds of a new topic for each unit of the evidence."""
    weights: Weights = load("en", "topics")["weights"]
    return weights


def meanings() -> Mapping[str, str]:
    """Return the reason that each kind of evidence stands for."""
    found: Mapping[str, str] = load("en", "topics")["meanings"]
    return found


def shortened(text: str) -> str:
    """Return a text, or the two ends of a long one."""
    return text if len(text) <= 2 * TURN_ENDS else f"{text[:TURN_ENDS]}\n{text[-TURN_ENDS:]}"


def last_sentence(text: str) -> str:
    """Return the last sentence of a text, with the marks at its end."""
    body = text.rstrip(_MARKS)
    return text[max([body.rfind(end) + len(end) for end in _ENDS if end in body], default=0) :]


def content_words(text: str) -> frozenset[str]:
    """Return the words of a lower-case text that mean something alone, cut to ``STEM`` letters."""
    words = _WORD.findall(text)
    stop = _ENGLISH.words("stop_words")
    found = {word[:STEM] for word in words if len(word) >= SHORTEST and word not in stop}
    if not text.isascii():
        for run in _UNSPACED.findall(text):
            found.update(run[at : at + 2] for at in range(len(run) - 1))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class TopicShift:
    """How likely a turn begins a topic.

    Attributes:
        probability: 0 to 1.
        reasons: what speaks most for it, in words.
    """

    probability: float
    reasons: tuple[str, ...]


class Cohesion:
    """The last turns of a conversation. Keeps a bounded number of them. Not thread-safe."""

    def __init__(self) -> None:
        """Start before the first turn."""
        self.age = 0
        """The turns of the topic so far."""
        self._turns: deque[TopicTurn] = deque(maxlen=BLOCK)

    def take(self, turn: TopicTurn, *, new: bool) -> None:
        """Add a turn, which begins a topic or does not."""
        self._turns.append(turn)
        self.age = 1 if new else self.age + 1

    def shift(self, turn: TopicTurn) -> TopicShift | None:
        """Return how likely ``turn``, not taken yet, begins a topic, if that is likely enough."""
        if not self.age:
            return None
        found = self.evidence(turn)
        parts = {name: weight * found[name] for name, weight in topic_weights().items()}
        probability = 1 / (1 + exp(-sum(parts.values())))
        return TopicShift(probability, _reasons(parts)) if probability >= NEW_TOPIC else None

    def evidence(self, turn: TopicTurn) -> dict[str, float]:
        """Return what speaks for and against a new topic with ``turn``, which is not the first.

        All are 0 or 1, but for ``length``: the natural logarithm of its tens of words; ``age``:
        that of the turns of the topic so far; ``new_words``: 1 minus the words in common with
        the block of turns before, as a share of the smaller set; ``new_last``: 1 minus those of
        the last sentence, as a share of its own; ``gap``: doublings of an hour.
        """
        before = self._turns
        block = [before[place] for place in range(-min(self.age, len(before)), 0)]
        words = block[0].words.union(*[each.words for each in block[1:]])
        asked = before[-1].question
        return {
            BIAS: 1.0,
            "question": float(turn.question),
            "asks_you": float(turn.asks_you),
            "asked": float(asked),
            "answered": float(len(before) > 1 and before[-2].question and not asked),
            "back": float(turn.back),
            "back_question": float(turn.back and turn.asks),
            "length": log(min(LONGEST, max(1, turn.length)) / 10),
            "no_words": float(not turn.words),
            "new_words": 1 - len(turn.words & words) / max(1, min(len(turn.words), len(words))),
            "new_last": 1 - len(turn.last & words) / max(1, len(turn.last)),
            "begun": float(self.age == 1),
            "age": log(self.age),
            GAP: _doublings(turn.at - before[-1].at),
        }


def _doublings(pause: timedelta) -> float:
    return min(GAP_MOST, log2(pause / GAP_FROM)) if pause > GAP_FROM else 0.0


def _reasons(parts: Weights) -> tuple[str, ...]:
    told = [name for name, part in parts.items() if part >= TOLD and name != BIAS]
    told.sort(key=lambda name: -parts[name])
    return tuple(meanings()[name] for name in told[:REASONS])


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
        """Return why a user's request belongs to the task before it; ``None`` if it does not."""
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


Read = Callable[[Message], Signals]

SHORTLY = 3  # turns that may stand between a completion statement and the next request
ENDING = 300  # characters at the end of an answer in which it asks back

_OFFERS = _ENGLISH.pattern("offers")
_CONTINUES = _ENGLISH.pattern("continues")


@dataclass(slots=True)
class _ReadMessage:
    message: Message
    said: Signals | None = None


class TaskProgress:
    """The last turns of the current task. Reads their signals when asked. Not thread-safe."""

    def __init__(self, read: Read) -> None:
        """Start without any; ``read`` returns the signals of a message."""
        self._read = read
        self._heard: deque[_ReadMessage] = deque(maxlen=SHORTLY + 1)
        self._newest: _ReadMessage | None = None

    def read(self, message: Message) -> Signals:
        """Return the signals of the message that comes next."""
        if self._newest is None or self._newest.message is not message:
            self._newest = _ReadMessage(message)
        return self._signals(self._newest)

    def take(self, message: Message) -> None:
        """Add a message of the user or the assistant, or the assistant's calls."""
        newest, self._newest = self._newest, None
        if newest is not None and newest.message is message:
            self._heard.append(newest)
        elif message.tool_calls or message.content.strip():
            self._heard.append(_ReadMessage(message))

    def clear(self) -> None:
        """Forget the turns: a new task begins."""
        self._heard.clear()

    def done(self) -> int | None:
        """Return how many turns came after the one that said that the task is complete.

        ``None`` if none of the last did, or if the work went on after it.
        """
        for ago, heard in enumerate(reversed(self._heard)):
            message = heard.message
            if message.tool_calls:
                return None
            said = self._signals(heard)
            if message.role == "user" and (said.directive or said.opening):
                return None
            if said.completion and not (message.role == "assistant" and _goes_on(message)):
                return ago
        return None

    def new_request(self, message: Message) -> Signals | None:
        """Return the signals of a user's message that asks for something after a completed task.

        ``None`` for one that asks for nothing, reports a failure, corrects, refers to what
        was said, sets a rule for what is done, or may answer a question.
        """
        said = self.read(message)
        if said.references or said.error or said.correction:
            return None
        if not (said.opening or (said.directive and not said.constraint and not self._asked())):
            return None
        return said if said.completion or self.done() is not None else None

    def _signals(self, heard: _ReadMessage) -> Signals:
        if heard.said is None:
            heard.said = self._read(heard.message)
        return heard.said

    def _asked(self) -> bool:
        """Return whether the last turn is a question about the task."""
        if not self._heard:
            return False
        last = self._heard[-1].message
        end = last.content[-ENDING:]
        return last.role == "assistant" and "?" in end and _OFFERS.search(end) is None


def _goes_on(message: Message) -> bool:
    return _CONTINUES.search(message.content) is not None


Kind = Literal["start", "explicit", "completion", "topic"]

LONGEST_TITLE = 80  # characters
WAITING = 256  # calls whose results are waited for at a time


@dataclass(frozen=True, slots=True)
class Boundary:
    """Why a segment begins where it does.

    Attributes:
        kind: ``start`` of the transcript; ``explicit``, by a marker; ``completion`` of a task
            and then a new request; ``topic``, by a shift of topic.
        strong: whether a task ends here, so that what lies before it may go.
        reasons: in words, the strongest first.
        title: of the task that begins, where a marker gives one.
        probability: that it is one, 0 to 1: 1 where it was said.
    """

    kind: Kind
    strong: bool
    reasons: tuple[str, ...]
    title: str | None = None
    probability: float = 1.0


START = Boundary("start", strong=False, reasons=("the conversation begins",))


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages in a row that belong to one task or topic.

    Attributes:
        start: index of its first message.
        end: the index after its last one.
        title: of the task, where a marker gives one.
        completed: whether its task is done: a strong boundary ends it, or a completion
            statement stands near its end.
        boundary: why it begins where it does.
    """

    start: int
    end: int
    title: str | None
    completed: bool
    boundary: Boundary


class Segmenter:
    """Says of each message whether a segment begins with it, from those before it alone.

    A message costs the same at any length of the conversation. Not thread-safe.

    Only a user's message begins a segment, and a system message with a marker. Where the
    caller names a task (``Message.task``), one begins with that message whoever wrote it;
    on a tool's message, or an assistant's while results are due, the mark waits for the next
    that may part. A user's message between a call and its result parts them by a marker alone.
    """

    def __init__(self, *, only_users: bool = True, read: Read = signals) -> None:
        """Start before the first message.

        Args:
            only_users: whether a shift of topic counts with users' messages alone, as in
                talks with an assistant; else with anybody's, as in chats among equals.
            read: returns the signals of a message; a cache of them can stand here.
        """
        self.ended = False
        """Whether the task before the newest boundary is done."""
        self._roles = {"user"} if only_users else {"user", "assistant"}
        self._cohesion = Cohesion()
        self._links = TaskLinks()
        self._progress = TaskProgress(read)
        self._due: dict[str, None] = {}  # ids of calls without results
        self._mark: str | None = None  # a task's title that waits
        self._begun = False  # whether anybody but the system spoke
        self._spoke = False  # whether one who can open a topic spoke in this segment
        self._asked = False  # whether a user spoke since the last strong boundary

    def add(self, message: Message) -> Boundary | None:
        """Return the boundary before ``message``, the next of the transcript, or ``None``."""
        turn = turn_of(message)
        boundary = self._explicit(message)
        if boundary is None and turn is not None and not self._due:
            boundary = self._completion(message) or self._topic(message, turn)
        self.ended = boundary is not None and (boundary.strong or self.completed)
        self._take(message, turn, boundary)
        return boundary

    @property
    def completed(self) -> bool:
        """Whether a recent message says that the task of the current segment is complete."""
        done = self._progress.done()
        return done is not None and done < self._cohesion.age

    def _explicit(self, message: Message) -> Boundary | None:
        if message.task is not None:
            self._mark = message.task
        opens = message.role in {"user", "system"}
        if self._mark is not None and (opens or (message.role != "tool" and not self._due)):
            title, self._mark = self._mark or None, None
            return Boundary("explicit", strong=True, reasons=("the caller says so",), title=title)
        if opens and self._begun and self._progress.read(message).explicit:
            title = message.content.strip().partition("\n")[0].lstrip("#* ")[:LONGEST_TITLE]
            return Boundary("explicit", strong=True, reasons=("a marker says so",), title=title)
        return None

    def _completion(self, message: Message) -> Boundary | None:
        if message.role != "user" or not self._asked:
            return None
        said = self._progress.new_request(message)
        if said is None or self._links.why(message) is not None:
            return None
        how = "opens something new" if said.opening else "asks for something unrelated"
        reasons = ("the task before was said to be complete", f"the user {how}")
        return Boundary("completion", strong=True, reasons=reasons)

    def _topic(self, message: Message, turn: TopicTurn) -> Boundary | None:
        if message.role not in self._roles or not self._spoke:
            return None
        shift = self._cohesion.shift(turn)
        if shift is None:
            return None
        return Boundary("topic", strong=False, reasons=shift.reasons, probability=shift.probability)

    def _take(self, message: Message, turn: TopicTurn | None, boundary: Boundary | None) -> None:
        if boundary is not None:
            self._spoke = False
            if boundary.strong:
                self._asked = False
                self._links.clear()
                self._progress.clear()
        self._take_calls(message)
        self._begun |= message.role != "system"
        if message.role in {"user", "assistant"}:
            self._links.take(message, turn.words if turn else ())
            self._progress.take(message)
        if turn is not None:
            self._spoke |= message.role in self._roles
            self._asked |= message.role == "user"
            self._cohesion.take(turn, new=boundary is not None)

    def _take_calls(self, message: Message) -> None:
        if message.tool_result is not None:
            self._due.pop(message.tool_result.call_id, None)
        elif message.tool_calls:
            self._due.update((call.id, None) for call in message.tool_calls)
            for old in list(self._due)[:-WAITING]:
                del self._due[old]
        elif message.role == "assistant":
            self._due.clear()  # it speaks again, so it waits no longer


def segments(
    messages: Sequence[Message], *, only_users: bool = True, read: Read = signals
) -> list[Segment]:
    """Return the segments of a transcript, in order; together they are all of it.

    Arguments are those of :class:`Segmenter`.
    """
    segmenter = Segmenter(only_users=only_users, read=read)
    found: list[Segment] = []
    start, began = 0, START
    for index, message in enumerate(messages):
        boundary = segmenter.add(message)
        if boundary is None:
            continue
        if index:
            found.append(Segment(start, index, began.title, segmenter.ended, began))
        start, began = index, boundary
    if messages:
        found.append(Segment(start, len(messages), began.title, segmenter.completed, began))
    return found


def turn_of(message: Message) -> TopicTurn | None:
    """Return a message as a turn of the conversation; ``None`` if it has no spoken text."""
    if message.role not in {"user", "assistant"} or not message.content.strip():
        return None
    return TopicTurn.of(message.content, message.timestamp)
