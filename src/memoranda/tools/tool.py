"""One tool: a function that a model may call, and how it is described to it."""

from __future__ import annotations

import inspect
import json
from asyncio import to_thread
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError, validate_call

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.checks import refuse_unknown

Schema = Mapping[str, Any]
# Names of requirements S4.61 and S4.62, under which two tools can be called, too.
ALIASES = {"search_memory": "search_memories", "remember_fact": "store_memory"}
# Characters of what a model is told of its mistake, which may quote what it gave.
LONGEST_ERROR = 600
NO_RESULT = "(no result)"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool found or did.

    Attributes:
        value: for a program: records, hits, a recall, figures, a profile, …
        text: for a model.
    """

    value: Any
    text: str


@dataclass(eq=False)
class Tool:
    """A function for a model to call. Called with keyword arguments, it returns a text.

    The function may return anything: :func:`show_result` makes a text of it. A wrong argument
    gives a text that says what is wrong, so that the model can mend its call; anything worse is
    raised.

    Attributes:
        name: what the model calls it.
        description: what it does, for the model.
        parameters: JSON schema of its arguments.
        function: what is called.
    """

    name: str
    description: str
    parameters: Schema = field(repr=False)
    function: Callable[..., Any] = field(repr=False)

    def __post_init__(self) -> None:
        """Have name, docstring and signature where frameworks look for those of a function."""
        self.__name__, self.__doc__ = self.name, self.description
        with suppress(NameError, TypeError, ValueError):  # Of some functions nobody knows it.
            signature = inspect.signature(self.function, eval_str=True)
            self.__signature__ = signature.replace(return_annotation=str)

    @classmethod
    def of(cls, function: Callable[..., str]) -> Self:
        """Return the tool that a function is, by its name, its docstring and its annotations."""
        description = " ".join((function.__doc__ or "").split())
        schema = TypeAdapter(cast("type", function)).json_schema()
        return cls(function.__name__, description, schema, function)

    def __call__(self, /, **arguments: Any) -> str:
        """Call the function with what a model gave as arguments; null is as not given."""
        try:
            return show_result(call_checked(self.function, arguments))
        except (InvalidInput, NotFound) as error:
            return f"Error: {error}"[:LONGEST_ERROR]

    def call(self, arguments: str | Mapping[str, Any] | None = None) -> str:
        """Call the function with arguments as providers give them: JSON text, or a mapping."""
        given = read_text(arguments or {})
        if not isinstance(given, Mapping):
            return f"Error: {self.name}: the arguments must be a JSON object, got {arguments!r:.80}"
        return Tool.__call__(self, **{str(name): value for name, value in given.items()})

    def openai(self) -> dict[str, Any]:
        """Return the tool in the form of OpenAI's chat completions."""
        about = {"name": self.name, "description": self.description}
        return {"type": "function", "function": {**about, "parameters": dict(self.parameters)}}

    def anthropic(self) -> dict[str, Any]:
        """Return the tool in the form of Anthropic's messages."""
        about = {"name": self.name, "description": self.description}
        return {**about, "input_schema": dict(self.parameters)}


def show_result(value: object) -> str:
    r"""Return what a tool gave as a text that can be stored and sent, whatever it is.

    Bytes are read as UTF-8, and other values are written as JSON, or as Python shows them. What
    no text in UTF-8 can hold, and NUL, is written as an escape: ``\x00``, ``\udce9``.
    """
    if value is None:
        return NO_RESULT
    if isinstance(value, ToolOutput):
        value = value.text
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    elif not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):
            value = repr(value)
    return value.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", r"\x00")


def call_checked(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Return what a function gives for arguments, if they fit its annotations.

    Null, or an empty text, is as not given where an argument may be left out.

    Raises:
        InvalidInput: one is unknown, missing, or of another type; the message names it.
    """
    takes = inspect.signature(function).parameters
    needed = {each.name for each in takes.values() if each.default is inspect.Parameter.empty}
    values = {
        name: value for name, value in given.items() if value not in (None, "") or name in needed
    }
    try:
        return validate_call(function)(**values)
    except ValidationError as error:
        told = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise InvalidInput(f"{function.__name__}: {'; '.join(told)}") from None


def read_text(value: Any) -> Any:
    """Return the JSON in a text that stands for a list or an object; other words are an item."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
        return [value]
    return value


class AsyncTool(Tool):
    """A tool for code that must not block: awaited, it does its work in a thread."""

    @classmethod
    def over(cls, tool: Tool) -> Self:
        """Return ``tool`` to be awaited."""
        return cls(tool.name, tool.description, tool.parameters, tool.function)

    async def __call__(self, /, **arguments: Any) -> str:  # type: ignore[override]
        """Call the function with what a model gave as arguments."""
        return await to_thread(Tool.__call__, self, **arguments)

    async def call(  # type: ignore[override]
        self, arguments: str | Mapping[str, Any] | None = None
    ) -> str:
        """Call the function with arguments as providers give them."""
        return await to_thread(Tool.call, self, arguments)


AnyTool = TypeVar("AnyTool", bound=Tool)


class ToolList(list[AnyTool]):
    """Tools in their order, which can be found by name."""

    def find(self, name: str) -> AnyTool:
        """Return the tool of that name; ``search_memory`` and ``remember_fact`` are names, too.

        Raises:
            InvalidInput: there is none; the message suggests the nearest.
        """
        named = {tool.name: tool for tool in self}
        refuse_unknown([name], [*named, *ALIASES], "tool")
        return named[ALIASES.get(name, name)]
