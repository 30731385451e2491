"""The catalog of models by name: context window, tokenizer, and message format.

What a message costs beyond its text: the format of a provider, its calls and its pictures.
And what the definitions of tools cost that are sent beside the messages (requirement N2.1): OpenAI
shows them to a model in a notation of its own, and its cookbook publishes a recipe for the tokens
of that. Anthropic tells how long the system prompt is that it adds. Other models read the
definitions as JSON.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memoranda.model.chat import ToolSpec
from memoranda.model.checks import json_text, several
from memoranda.model.models import Image, ToolCall
from memoranda.model.ports import TokenCounter
from memoranda.text.json_values import object_of
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.documents import count_document, size_in_url
from memoranda.tokens.estimate import DEFAULT, ENCODINGS, EstimatedCounter
from memoranda.tokens.exact import huggingface_counter, openai_counter

# By OpenAI's recipe: around all arguments, each argument, its choices, and each choice.
ARGUMENTS, ARGUMENT, CHOICES, CHOICE = 3, 3, -3, 3


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """How a provider shows the definitions of tools to a model.

    Attributes:
        once: tokens that are added as soon as there is a tool.
        each: tokens that are added for each tool.
        as_json: whether a definition is shown as JSON, and not in OpenAI's notation.
    """

    once: int = 0
    each: int = 0
    as_json: bool = True


def _count_tool(
    definition: ToolSpec | Mapping[str, Any], count: Callable[[str], int], form: ToolFormat
) -> int:
    given = object_of(asdict(definition) if isinstance(definition, ToolSpec) else definition)
    text = json_text(given, "a tool")
    function = object_of(given.get("function", given))
    if form.as_json or "name" not in function:  # A tool that the provider itself has.
        return count(text)
    description = str(function.get("description") or "").removesuffix(".")
    schema = function.get("parameters") or function.get("input_schema")
    return count(f"{function['name']}:{description}") + _count_arguments(schema, count)


def _count_arguments(schema: object, count: Callable[[str], int]) -> int:
    """Return the tokens of the properties of a schema, and of those inside them."""
    if not isinstance(schema, Mapping):
        return 0
    arguments, total = schema.get("properties") or {}, _count_arguments(schema.get("items"), count)
    for name, argument in arguments.items():
        about = argument if isinstance(argument, Mapping) else {}
        description = str(about.get("description") or "").removesuffix(".")
        total += ARGUMENT + count(f"{name}:{about.get('type', 'any')}:{description}")
        if choices := about.get("enum"):
            total += CHOICES + sum(CHOICE + count(str(choice)) for choice in choices)
        total += _count_arguments(about, count)
    return total + ARGUMENTS if arguments else total


# Returns the tokens of a picture; of one whose size is not known the most there can be.
ImageRule = Callable[[Image], int]


def tiles(image: Image, *, base: int = 85, tile: int = 170) -> int:
    """Return the tokens by OpenAI's rule: a base, and so much for each 512 by 512 pixels.

    Before, a picture is made to fit into 2048 by 2048 pixels and its shorter side into 768.
    With ``detail="low"`` it costs the base alone; eight tiles are the most there can be.
    """
    if image.detail == "low":
        return base
    size = size_in_url(image.url)
    if size is None:
        return base + 8 * tile
    scale = min(1.0, 2048 / max(size))
    scale *= min(1.0, 768 / (min(size) * scale))
    across, down = (max(1, math.ceil(round(side * scale) / 512)) for side in size)
    return base + across * down * tile


def patches(image: Image, *, factor: float, most: int = 1536) -> int:
    """Return the tokens by OpenAI's rule for small models: patches of 32 by 32 pixels."""
    size = size_in_url(image.url)
    count = most if size is None else math.prod(math.ceil(side / 32) for side in size)
    return math.ceil(min(count, most) * factor)


def area(image: Image, *, side: int = 1568, most: int = 1600) -> int:
    """Return the tokens by Anthropic's rule: pixels over 750, the longer side made to fit."""
    size = size_in_url(image.url)
    if size is None:
        return most
    scale = min(1.0, side / max(size))
    return min(most, math.ceil(math.prod(size) * scale * scale / 750))


def flat(_: Image, *, tokens: int) -> int:
    """Return the same for every picture."""
    return tokens


AS_JSON = ToolFormat()


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a provider packs messages.

    Attributes:
        message: tokens around each message: its role, and what separates it from the next.
        reply: tokens that open the model's reply, once in a context.
        call: tokens around the name and the arguments of each tool call.
        images: what a picture costs.
        tools: how the definitions of tools are shown.
    """

    message: int = 4
    reply: int = 3
    call: int = 4
    images: ImageRule = tiles
    tools: ToolFormat = AS_JSON


OTHERS = ChatFormat()
OPENAI = ChatFormat(tools=ToolFormat(once=12, each=7, as_json=False))
# Of Anthropic's format only the rules for pictures and tools are published. The rest is as
# OpenAI's, with room for the block that a call is there.
ANTHROPIC = ChatFormat(call=12, images=area, tools=ToolFormat(once=346))


@dataclass(frozen=True, slots=True)
class ChatMeter:
    """Measures messages with a counter for their text, and a format for the rest."""

    counter: TokenCounter
    format: ChatFormat = OTHERS

    def message(
        self, content: str, calls: Sequence[ToolCall] = (), images: Sequence[Image] = ()
    ) -> int:
        """Return the tokens of a message with its calls, its images and what is around them."""
        count, form = self.counter.count, self.format
        called = sum(count(call.name) + count(call.arguments) + form.call for call in calls)
        shown = sum(count_document(image.url) or form.images(image) for image in images)
        return count(content) + called + shown + form.message

    def tools(self, definitions: Iterable[ToolSpec | Mapping[str, Any]]) -> int:
        """Return how many tokens the definitions of tools take in a request.

        Args:
            definitions: specifications, or dicts in the form of OpenAI or Anthropic.

        Raises:
            InvalidInput: JSON cannot hold one of them.
        """
        count, form = self.counter.count, self.format.tools
        given = several(definitions, "tools")
        tokens = [form.each + _count_tool(each, count, form) for each in given]
        return form.once + sum(tokens) if tokens else 0


# Counts that are kept, and the characters of a text for which they are.
KEPT, LONGEST_KEPT = 1_024, 16_000


class CachedCounter:
    """A counter that keeps the counts of short texts by another one (requirements R1.5, N3.4)."""

    def __init__(self, inner: TokenCounter) -> None:
        """Know nothing yet."""
        self.name, self.exact, self._count = inner.name, inner.exact, inner.count
        self._kept = lru_cache(KEPT)(inner.count)

    def count(self, text: str) -> int:
        """Return what the inner counter returns for ``text``."""
        return self._kept(text) if len(text) <= LONGEST_KEPT else self._count(text)


LIST = Path(__file__).with_name("models.toml")
ESTIMATE = "estimate"
FORMATS = {"others": OTHERS, "openai": OPENAI, "anthropic": ANTHROPIC}
RULES: dict[str, Callable[..., int]] = {
    rule.__name__: rule for rule in (tiles, patches, area, flat)
}
# What stands between a model's name and what may be before it: "openai/", "us.anthropic.".
BEFORE = compile_pattern(r"[/:.]")
WILDCARDS = frozenset("*?[]")
KEPT_MODELS = 1_000
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """What is known of a model: an entry of ``models.toml``, and what the settings say.

    Attributes:
        name: of the family; ``None`` if the model is not known.
        window: its context window in tokens, if that is known.
        window_given: whether the user's limits say so.
        tokenizer: what is to count: ``o200k_base``, ``cl100k_base``, the path of a
            ``tokenizer.json``, or ``estimate``. Where it cannot be loaded an estimate counts;
            ``Catalog.meter(model).counter`` tells.
        encoding: where an estimate counts, the encoding it is for.
        factor: on an estimate.
        format: what is added to the text of a message.
    """

    name: str | None = None
    window: int | None = None
    window_given: bool = False
    tokenizer: str = ESTIMATE
    encoding: str = DEFAULT
    factor: float = 1.0
    format: ChatFormat = OTHERS


class Catalog:
    """Finds a model by its name, and makes its meter. Thread-safe.

    A name may have a provider before it (``openai/gpt-4o``, ``anthropic:claude-…``) and a date
    or a tag after it; case does not matter. Patterns are those of :mod:`fnmatch`; of several
    that match, the one with the most letters counts.

    Attributes:
        known: returns what is known of a model, by its name, and loads nothing.
    """

    def __init__(
        self, *, limits: Mapping[str, int] = NOTHING, tokenizers: Mapping[str, str] = NOTHING
    ) -> None:
        """Take the user's patterns, which win over the known models; see the settings ``tokens``.

        Args:
            limits: context windows by name or pattern.
            tokenizers: by name or pattern ``o200k_base``, ``cl100k_base``, the path of a
                ``tokenizer.json``, or ``estimate``.
        """
        self._limits, self._tokenizers = limits, tokenizers
        self._counter = cache(_load)
        # Names come from outside, in any number.
        self.known = lru_cache(KEPT_MODELS)(self._look_up)

    def window(self, model: str | None, usual: int | None = None) -> int | None:
        """Return the context window of a model: by the user's limits, ``usual``, or as known."""
        known = self.known(model)
        return known.window if known.window_given else usual or known.window

    def _look_up(self, model: str | None) -> ModelFamily:
        """Return what is known of ``model``. Loads nothing."""
        name = (model or "").strip().lower()
        names = [name, *(name[each.end() :] for each in BEFORE.finditer(name))]
        listed = _best(names, families())
        limit, tokenizer = _best(names, self._limits), _best(names, self._tokenizers)
        known = families()[listed] if listed else ModelFamily()
        if limit:
            known = replace(known, window=self._limits[limit], window_given=True)
        return replace(known, tokenizer=self._tokenizers[tokenizer]) if tokenizer else known

    def meter(self, model: str | None) -> ChatMeter:
        """Return what measures messages for ``model``; of an unknown one by cautious estimates.

        The first meter with a tokenizer loads it. Later ones share its counter and its cache.
        """
        known = self.known(model)
        return ChatMeter(self._counter(known.tokenizer, known.encoding, known.factor), known.format)


def _load(tokenizer: str, encoding: str, factor: float) -> CachedCounter:
    if tokenizer == ESTIMATE:
        return CachedCounter(EstimatedCounter(encoding, factor=factor))
    if tokenizer in ENCODINGS:
        return CachedCounter(openai_counter(tokenizer))
    return CachedCounter(huggingface_counter(Path(tokenizer).expanduser()))


@cache
def families() -> Mapping[str, ModelFamily]:
    """Return the known models: a family for each of its patterns."""
    found: dict[str, ModelFamily] = {}
    for entry in tomllib.loads(LIST.read_text("utf-8"))["family"]:
        form, patterns = FORMATS[entry.pop("format", "others")], entry.pop("match")
        form = replace(form, tools=replace(form.tools, **entry.pop("tools", {})))
        if images := entry.pop("images", None):
            form = replace(form, images=partial(RULES[images.pop("rule")], **images))
        exact = entry["tokenizer"] if entry["tokenizer"] in ENCODINGS else DEFAULT
        encoding = entry.pop("encoding", exact)
        found |= dict.fromkeys(patterns, ModelFamily(encoding=encoding, format=form, **entry))
    return found


def _best(names: Iterable[str], patterns: Iterable[str]) -> str | None:
    """Return the pattern that matches a name; of several that with most letters, then shortest."""
    named = [name for name in names if name]
    found = [one for one in patterns if any(fnmatchcase(name, one.lower()) for name in named)]
    return max(
        found, key=lambda one: (sum(c not in WILDCARDS for c in one), -len(one)), default=None
    )
