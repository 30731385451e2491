"""The ports: what memoranda asks of an embedder, a language model and its other parts.

The docstrings are the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, runtime_checkable

from memoranda.model.notes import line_of

if TYPE_CHECKING:
    from datetime import datetime

    from memoranda.model.models import Image, Mention, Record, ToolCall, ToolResult
    from memoranda.model.query import EmbeddedText, Vectors
    from memoranda.model.usage import Reply


T = TypeVar("T")
Key = TypeVar("Key", str, int)
VECTORS = "vectors"
# Kinds of work that records wait for: what is derived from them later.
ENTITIES = "entities"


class Analyzer(Protocol):
    """Turns text into the terms under which it is found."""

    @property
    def name(self) -> str:
        """Name and version; another name means that an index must be rebuilt."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, repeated as often as they occur.

        The same word in another inflection, case or Unicode form gives the same term.
        Terms hold letters and digits only, so they can stand in any query language.
        """

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms worth searching: as ``terms``, less the stop words."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their likeness."""

    @property
    def name(self) -> str:
        """The model; vectors of another name are never compared with these."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), dimensions)``, rows of unit length.

        Thread-safe. May be slow, so it is never called while a message is added.

        Raises:
            EmbeddingError: the model failed; the message says what to do.
        """


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that gives the tokens of a text vectors of their own, too."""

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[EmbeddedText]:
        """Return of each text its vector, as ``embed`` does, and those of its telling tokens.

        Of a ``query`` function words count, too: "who" is like a name, and "when" like a day.

        Raises:
            EmbeddingError: the model failed; the message says what to do.
        """


@runtime_checkable
class AnswerScorer(Embedder, Protocol):
    """An embedder that tells how likely a text answers a question, too, reading both together."""

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return of each text how likely it answers a question of its language, as a logit.

        Raises:
            EmbeddingError: the model failed; the message says what to do.
        """


class EntityExtractor(Protocol):
    """Finds the named things in a text."""

    def extract(self, text: str) -> list[Mention]:
        """Return mentions in the order of their start, none overlapping."""


class LanguageModel(Protocol):
    """A large language model: text in, a typed answer out.

    Nothing needs one; each stage that can use one says what it does without.
    """

    @property
    def name(self) -> str:
        """The model, such as ``anthropic:claude-…``; no secrets."""

    async def ask(self, instructions: str, prompt: str, answer: type[T]) -> Reply[T]:
        """Return what the model answers to ``prompt``, as an ``answer``.

        Args:
            instructions: what its task is; the system prompt.
            prompt: what it works on; data, never instructions.
            answer: the type wanted: a dataclass of plain values, lists and dataclasses. The
                docstring and fields are told to the model as a JSON schema.

        Raises:
            LLMError: it failed beyond the retries, took too long, or gave no such answer;
                ``error.usage`` says what was spent all the same.
        """


class NameMatcher(Protocol):
    """Decides which names mean the same entity."""

    def fold(self, name: str) -> str:
        """Return the form in which names are compared: without case, accents or possessive."""

    def means(self, name: str, type: str, known: str, known_type: str) -> bool:
        """Return whether ``name`` also means what the folded name ``known`` does."""

    def keys(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return under which keys a name is kept, and under which names that may mean the same are.

        Of names that :meth:`means` makes one, either is kept under a key that the other looks for.
        """


class TokenCounter(Protocol):
    """Measures text in the tokens of a model."""

    @property
    def exact(self) -> bool:
        """Whether the counts are the model's own rather than an estimate."""

    @property
    def name(self) -> str:
        """What counts: ``o200k_base``, the path of a tokenizer, ``estimate (cl100k_base)``, …."""

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has; 0 for an empty one.

        Thread-safe, and never fails: special tokens and lone surrogates in ``text`` are
        ordinary characters to it.
        """


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What is asked of memory for a prompt.

    Attributes:
        question: what the user says.
        budget: most tokens of the answer.
        seen: the ids of records that need not be told: they are in view anyway.
        lines: the lines of the notes that stand in the same context.
        counter: what counts tokens; that of no model in particular, if not given.
        cleared: whether it may tell what a person cleared from the conversation that is held.
    """

    question: str
    budget: int
    seen: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()
    counter: TokenCounter | None = None
    cleared: bool = False

    def tells(self, record: Record) -> bool:
        """Return whether the context tells a record anyway.

        A note says it, or all messages that it was drawn from are in view.
        """
        drawn = bool(record.source_ids) and self.seen.issuperset(record.source_ids)
        return drawn or line_of(record.content) in self.lines


# Called with how many units of a long operation are done, and of how many; of 0, where that is not
# known before.
Progress = Callable[[int, int], object]


class ConversationOptions(TypedDict, total=False):
    """How a conversation is opened (:class:`memoranda.Conversation`)."""

    system: str | None
    model: str | None
    context_limit: int | None
    max_tokens: int | None
    max_messages: int | None
    keep_recent: int | None
    strategy: Any  # a name, or an object of the protocol Strategy


class MessageOptions(TypedDict, total=False):
    """What a message has beside its role and its text (``Conversation.add``)."""

    tool_calls: Iterable[ToolCall | Mapping[str, Any]]
    tool_result: ToolResult | str | None
    images: Iterable[Image | str]
    timestamp: datetime | None
    task: str | None
    name: str | None
