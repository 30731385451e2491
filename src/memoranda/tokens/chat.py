"""What a message costs beyond its text: the format of a provider, its calls and its pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoranda.model.models import Image, ToolCall
from memoranda.model.ports import TokenCounter
from memoranda.tokens.pictures import size_in_url

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
