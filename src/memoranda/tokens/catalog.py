"""The catalog of models by name: context window, tokenizer, and message format.

What a message costs beyond its text: the format of a provider, its calls and its pictures.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memoranda.errors import ConfigError, InvalidInput
from memoranda.model.models import Image, ToolCall
from memoranda.model.ports import TokenCounter
from memoranda.tokens.estimate import DEFAULT, ENCODINGS, EstimatedCounter
from memoranda.tokens.exact import huggingface_counter, openai_counter
from memoranda.tokens.pictures import size_in_url

if TYPE_CHECKING:
    from memoranda.settings.sections import TokenSettings

ImageRule = Callable[[Image], int]
"""Returns the tokens of a picture."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """OpenAI's rule: a base, and so much for each tile of 512 by 512 pixels.

    Before, a picture is made to fit into 2048 by 2048 pixels and its shorter side into 768.
    With ``detail="low"`` it costs the base alone. One whose size is not known costs what eight
    tiles do, the most there can be.
    """

    base: int = 85
    tile: int = 170

    def __call__(self, image: Image) -> int:
        """Return the tokens of ``image``."""
        if image.detail == "low":
            return self.base
        size = size_in_url(image.url)
        if size is None:
            return self.base + 8 * self.tile
        scale = min(1.0, 2048 / max(size))
        scale *= min(1.0, 768 / (min(size) * scale))
        across, down = (max(1, math.ceil(round(side * scale) / 512)) for side in size)
        return self.base + across * down * self.tile


@dataclass(frozen=True, slots=True)
class Patches:
    """OpenAI's rule for small models: patches of 32 by 32 pixels, 1536 at most, times a factor.

    One whose size is not known costs the most there can be.
    """

    factor: float
    most: int = 1536

    def __call__(self, image: Image) -> int:
        """Return the tokens of ``image``."""
        size = size_in_url(image.url)
        patches = self.most if size is None else math.prod(math.ceil(side / 32) for side in size)
        return math.ceil(min(patches, self.most) * self.factor)


@dataclass(frozen=True, slots=True)
class Area:
    """Anthropic's rule: width times height over 750, after the longer side is made to fit.

    One whose size is not known costs the most there can be.
    """

    side: int = 1568
    most: int = 1600

    def __call__(self, image: Image) -> int:
        """Return the tokens of ``image``."""
        size = size_in_url(image.url)
        if size is None:
            return self.most
        scale = min(1.0, self.side / max(size))
        return min(self.most, math.ceil(math.prod(size) * scale * scale / 750))


@dataclass(frozen=True, slots=True)
class Flat:
    """The same for every picture."""

    tokens: int

    def __call__(self, image: Image) -> int:
        """Return the tokens of any image."""
        del image
        return self.tokens


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a provider packs messages.

    Attributes:
        message: tokens around each message: its role, and what separates it from the next.
        reply: tokens that open the model's reply, once in a context.
        call: tokens around the name and the arguments of each tool call.
        images: what a picture costs.
    """

    message: int = 4
    reply: int = 3
    call: int = 4
    images: ImageRule = Tiles()


OPENAI = ChatFormat()
# Of Anthropic's format only the rule for pictures is published. The rest is as OpenAI's, with
# room for the block that a call is there.
ANTHROPIC = ChatFormat(call=12, images=Area())


class ChatMeter:
    """Measures messages with a counter for their text, and a format for the rest."""

    def __init__(self, counter: TokenCounter, format: ChatFormat = OPENAI) -> None:
        """Measure text with ``counter``; the format is OpenAI's unless another is known."""
        self._counter = counter
        self._format = format

    @property
    def counter(self) -> TokenCounter:
        """What measures the text."""
        return self._counter

    @property
    def format(self) -> ChatFormat:
        """What is added to the text."""
        return self._format

    @property
    def reply(self) -> int:
        """Tokens that open the model's reply, once in a context."""
        return self._format.reply

    def message(
        self, content: str, calls: Sequence[ToolCall] = (), images: Sequence[Image] = ()
    ) -> int:
        """Return the tokens of a message with its calls, its images and what is around them."""
        count, form = self._counter.count, self._format
        called = sum(count(call.name) + count(call.arguments) + form.call for call in calls)
        return count(content) + called + sum(map(form.images, images)) + form.message


# What an entry takes at most: a digest of 16 bytes, a number, and its places in a dictionary that
# is half empty. Measured with tracemalloc (281) and rounded up.
ENTRY_BYTES = 320
MEBIBYTE = 1_048_576


class CachedCounter:
    """A counter that keeps the last counts of another one (R1.5, N3.4).

    Texts are kept as hashes only, so memory does not depend on their length, and nothing of an
    erased text remains. Thread-safe; the lock is never held while the inner counter works, so
    two threads may count the same new text twice.
    """

    def __init__(self, inner: TokenCounter, *, max_bytes: int = 2 * MEBIBYTE) -> None:
        """Keep counts of ``inner`` in at most ``max_bytes``; the least recently used go first.

        Raises:
            InvalidInput: ``max_bytes`` has no room for a single count.
        """
        if max_bytes < ENTRY_BYTES:
            raise InvalidInput(
                f"max_bytes must be at least {ENTRY_BYTES}, got {max_bytes}; "
                f"for no cache use the inner counter"
            )
        self._inner = inner
        self._capacity = max_bytes // ENTRY_BYTES
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._hits = self._misses = 0
        self._lock = Lock()

    @property
    def exact(self) -> bool:
        """Whether the inner counter is exact."""
        return self._inner.exact

    @property
    def name(self) -> str:
        """The name of the inner counter."""
        return self._inner.name

    @property
    def hits(self) -> int:
        """How many counts were found here."""
        return self._hits

    @property
    def misses(self) -> int:
        """How many counts the inner counter had to make."""
        return self._misses

    def __len__(self) -> int:
        """Return how many counts are kept."""
        return len(self._counts)

    def count(self, text: str) -> int:
        """Return what the inner counter returns for ``text``, at the latest by asking it."""
        if not text:
            return 0
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._counts.get(key)
            if known is not None:
                self._counts.move_to_end(key)
                self._hits += 1
                return known
            self._misses += 1
        count = self._inner.count(text)
        with self._lock:
            self._counts[key] = count
            if len(self._counts) > self._capacity:
                self._counts.popitem(last=False)
        return count


LIST = Path(__file__).with_name("models.toml")
ESTIMATE = "estimate"
FORMATS = {"openai": OPENAI, "anthropic": ANTHROPIC}
RULES: dict[str, Callable[..., ImageRule]] = {
    "tiles": Tiles,
    "patches": Patches,
    "area": Area,
    "flat": Flat,
}
# What may stand before a model's name: "openai/", "openai:", "us.anthropic.".
BEFORE = re.compile(r"[/:]|(?<![^/:.])[a-z]+\.")
WILDCARDS = frozenset("*?[]")
KEPT_MODELS = 1_000
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """An entry of ``models.toml``."""

    name: str
    match: tuple[str, ...]
    window: int
    tokenizer: str
    factor: float = 1.0
    format: ChatFormat = OPENAI


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What the catalog knows of a model, and from where.

    Attributes:
        model: the name that was asked for.
        family: the family of models it belongs to; ``None`` if it is not known.
        limit: its context window in tokens, if that is known.
        limit_from: the pattern that gave the limit, and whose it is, such as
            ``gpt-4o* (known models)`` or ``my-* (settings)``.
        tokenizer: what is to count: ``o200k_base``, ``cl100k_base``, the path of a
            ``tokenizer.json``, or ``estimate``. Where it cannot be loaded an estimate counts;
            ``Catalog.meter(model).counter`` tells.
        tokenizer_from: as ``limit_from``.
        encoding: where an estimate counts, the encoding it is for.
        factor: on an estimate.
        format: what is added to the text of a message.
    """

    model: str | None
    family: str | None = None
    limit: int | None = None
    limit_from: str | None = None
    tokenizer: str = ESTIMATE
    tokenizer_from: str | None = None
    encoding: str = DEFAULT
    factor: float = 1.0
    format: ChatFormat = OPENAI


class Catalog:
    """Finds a model by its name, and makes its meter. Thread-safe.

    A name may have a provider before it (``openai/gpt-4o``, ``anthropic:claude-…``) and a date
    or a tag after it; case does not matter. Patterns are those of :mod:`fnmatch`; of several
    that match, the one with the most letters counts.
    """

    @classmethod
    def of_settings(cls, settings: TokenSettings) -> Catalog:
        """Return the catalog with the models of the settings."""
        return cls(
            limits=settings.limits,
            tokenizers=settings.tokenizers,
            load_timeout=settings.load_timeout,
        )

    def __init__(
        self,
        *,
        limits: Mapping[str, int] = NOTHING,
        tokenizers: Mapping[str, str] = NOTHING,
        load_timeout: float = 5.0,
    ) -> None:
        """Take the user's patterns, which win over the known models.

        Args:
            limits: context windows by name or pattern.
            tokenizers: by name or pattern ``o200k_base``, ``cl100k_base``, the path of a
                ``tokenizer.json``, or ``estimate``.
            load_timeout: seconds to wait for a tokenizer that must be downloaded.

        Raises:
            ConfigError: a limit is no number above 0, or a tokenizer none of these.
        """
        self._limits = {_pattern(key, "limits"): _limit(key, limits[key]) for key in limits}
        self._tokenizers = {
            _pattern(key, "tokenizers"): _tokenizer(key, tokenizers[key]) for key in tokenizers
        }
        self._timeout = load_timeout
        self._meters: dict[str | None, ChatMeter] = {}
        self._counters: dict[tuple[str, str, float], TokenCounter] = {}
        self._known: dict[str | None, ModelInfo] = {}
        self._lock = Lock()

    def context_limit(self, model: str | None) -> int | None:
        """Return the context window of ``model`` in tokens; ``None`` if it is not known."""
        return self.known(model).limit

    def known(self, model: str | None) -> ModelInfo:
        """Return what is known of ``model``, and where from. Loads nothing."""
        found = self._known.get(model)
        if found is None:
            if len(self._known) >= KEPT_MODELS:
                self._known.clear()
            found = self._known[model] = self._looked_up(model)
        return found

    def _looked_up(self, model: str | None) -> ModelInfo:
        names = _names(model)
        limit, mine = _best(names, self._limits), _best(names, self._tokenizers)
        listed = _best(names, families())
        known = ModelInfo(model=model)
        if listed:
            family = families()[listed]
            known = replace(
                known,
                family=family.name,
                limit=family.window,
                limit_from=f"{listed} (known models)",
                tokenizer=family.tokenizer,
                tokenizer_from=f"{listed} (known models)",
                encoding=family.tokenizer if family.tokenizer in ENCODINGS else DEFAULT,
                factor=family.factor,
                format=family.format,
            )
        if limit:
            known = replace(known, limit=self._limits[limit], limit_from=f"{limit} (settings)")
        if mine:
            chosen = self._tokenizers[mine]
            known = replace(known, tokenizer=chosen, tokenizer_from=f"{mine} (settings)")
        return known

    def meter(self, model: str | None) -> ChatMeter:
        """Return what measures messages for ``model``; of an unknown one by cautious estimates.

        The first meter with a tokenizer loads it, which can take ``load_timeout``. Later ones
        share its counter and its cache.
        """
        with self._lock:
            meter = self._meters.get(model)
        if meter is None:
            known = self.known(model)
            meter = ChatMeter(self._counter(known), known.format)
            with self._lock:
                if len(self._meters) >= KEPT_MODELS:
                    self._meters.clear()
                meter = self._meters.setdefault(model, meter)
        return meter

    def _counter(self, known: ModelInfo) -> TokenCounter:
        key = (known.tokenizer, known.encoding, known.factor)
        with self._lock:
            counter = self._counters.get(key)
        if counter is None:
            loaded = CachedCounter(self._load(known))
            with self._lock:  # Not while it loads: others need not wait for a download.
                counter = self._counters.setdefault(key, loaded)
        return counter

    def _load(self, known: ModelInfo) -> TokenCounter:
        if known.tokenizer == ESTIMATE:
            return EstimatedCounter(known.encoding, factor=known.factor)
        if known.tokenizer in ENCODINGS:
            return openai_counter(known.tokenizer, timeout=self._timeout)
        return huggingface_counter(Path(known.tokenizer).expanduser())


@cache
def families() -> Mapping[str, ModelFamily]:
    """Return the known models: a family for each of its patterns."""
    entries = tomllib.loads(LIST.read_text("utf-8"))["family"]
    return {pattern: family for family in map(_family, entries) for pattern in family.match}


def _family(entry: dict[str, Any]) -> ModelFamily:
    form = FORMATS[entry.pop("format", "openai")]
    if images := entry.pop("images", None):
        rule = RULES[images.pop("rule")](**images)
        form = ChatFormat(message=form.message, reply=form.reply, call=form.call, images=rule)
    return ModelFamily(match=tuple(entry.pop("match")), format=form, **entry)


def _names(model: str | None) -> list[str]:
    """Return the name in small letters, and what remains of it behind each provider."""
    name = (model or "").strip().lower()
    return [name, *(name[found.end() :] for found in BEFORE.finditer(name))]


def _best(names: Iterable[str], patterns: Iterable[str]) -> str | None:
    names = [name for name in names if name]
    matching = [
        pattern for pattern in patterns if any(fnmatchcase(name, pattern.lower()) for name in names)
    ]
    # Most letters first, then fewest wildcards: "gpt-4o" before "gpt-4o*".
    return max(matching, key=_weight, default=None)


def _weight(pattern: str) -> tuple[int, int]:
    wildcards = sum(character in WILDCARDS for character in pattern)
    return len(pattern) - wildcards, -wildcards


def _pattern(key: object, setting: str) -> str:
    if not isinstance(key, str) or not key.strip():
        message = f"tokens.{setting}: {key!r} is no model; write its name or a pattern like my-*"
        raise ConfigError(message)
    return key.strip()


def _limit(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ConfigError(
            f"tokens.limits[{key!r}] = {value!r} is no number of tokens above 0; "
            f"give the context window of the model, such as 128000"
        )
    return value


def _tokenizer(key: str, value: object) -> str:
    if isinstance(value, str) and (value in {ESTIMATE, *ENCODINGS} or value.endswith(".json")):
        return value
    raise ConfigError(
        f"tokens.tokenizers[{key!r}] = {value!r} is unknown; use {', '.join(ENCODINGS)}, "
        f"{ESTIMATE}, or the path of a tokenizer.json"
    )
