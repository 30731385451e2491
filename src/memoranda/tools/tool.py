"""One tool: a function that a model may call, and how it is described to it."""

from __future__ import annotations

import inspect
import json
from asyncio import to_thread
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memoranda.errors import InvalidInput, NotFound

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
LONGEST_ERROR = 600
"""Characters of what a model is told of its mistake, which may quote what it gave."""


class Signature:
    """The signature of a tool, where frameworks look for that of a function."""

    def __get__(
        self, tool: Tool | AsyncTool | None, owner: type | None = None
    ) -> inspect.Signature:
        """Return the arguments that a model may give, all of them by name."""
        if tool is None:  # The class has the signature of its own constructor.
            raise AttributeError
        function = tool.tool.function if isinstance(tool, AsyncTool) else tool.function
        signature = inspect.signature(function, eval_str=True)
        return signature.replace(
            parameters=[
                each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for each in signature.parameters.values()
            ]
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A function for a model to call. Called with keyword arguments, it returns a text.

    A wrong argument gives a text that says what is wrong, so that the model can mend its call;
    anything worse is raised.

    Attributes:
        name: what the model calls it.
        description: what it does, for the model.
        parameters: JSON schema of its arguments.
        function: what is called.
    """

    name: str
    description: str
    parameters: Schema
    function: Callable[..., str]

    __signature__ = Signature()

    @property
    def __name__(self) -> str:
        """The name, as of any function: frameworks look here."""
        return self.name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The description, as of any function."""
        return self.description

    def __call__(self, **arguments: Any) -> str:
        """Call the function with what a model gave as arguments; null is as not given."""
        arguments = {name: value for name, value in arguments.items() if self._counts(name, value)}
        try:
            inspect.signature(self.function).bind(**arguments)
        except TypeError as error:
            takes = ", ".join(self.parameters.get("properties", {})) or "none"
            return _told(f"Error: {self.name}: {error}; its arguments are: {takes}")
        try:
            return self.function(**arguments)
        except (InvalidInput, NotFound) as error:
            return _told(f"Error: {error}")

    def _counts(self, name: str, value: object) -> bool:
        """Return whether an argument is more than a null for what may be left out."""
        takes = self.parameters.get("properties", {})
        optional = name in takes and name not in self.parameters.get("required", ())
        return value is not None or not optional

    def call(self, arguments: str | Mapping[str, Any] | None = None) -> str:
        """Call the function with arguments as providers give them: JSON text, or a mapping."""
        if arguments is None or arguments == "":
            return self()
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError as error:
                return _told(f"Error: {self.name}: the arguments are no JSON: {error}")
        if not isinstance(arguments, Mapping):
            return f"Error: {self.name}: the arguments must be an object, got {arguments!r:.80}"
        return self(**{str(name): value for name, value in arguments.items()})

    def openai(self) -> dict[str, Any]:
        """Return it in the form of OpenAI's chat completions."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }

    def anthropic(self) -> dict[str, Any]:
        """Return it in the form of Anthropic's messages."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": dict(self.parameters),
        }


def _told(error: str) -> str:
    return error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"


@dataclass(frozen=True, slots=True)
class AsyncTool:
    """A tool for code that must not block: awaited, it does its work in a thread."""

    tool: Tool

    __signature__ = Signature()

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.tool.name

    @property
    def __name__(self) -> str:
        """The name, as of any function."""
        return self.tool.name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The description, as of any function."""
        return self.tool.description

    @property
    def description(self) -> str:
        """What it does, for the model."""
        return self.tool.description

    @property
    def parameters(self) -> Schema:
        """JSON schema of its arguments."""
        return self.tool.parameters

    async def __call__(self, **arguments: Any) -> str:
        """Call the function with what a model gave as arguments."""
        return await to_thread(self.tool, **arguments)

    async def call(self, arguments: str | Mapping[str, Any] | None = None) -> str:
        """Call the function with arguments as providers give them."""
        return await to_thread(self.tool.call, arguments)

    def openai(self) -> dict[str, Any]:
        """Return it in the form of OpenAI's chat completions."""
        return self.tool.openai()

    def anthropic(self) -> dict[str, Any]:
        """Return it in the form of Anthropic's messages."""
        return self.tool.anthropic()


@dataclass(frozen=True, slots=True)
class Spec:
    """A tool without its function: what a model is told of it."""

    name: str
    description: str
    parameters: Schema

    def tool(self, function: Callable[..., str]) -> Tool:
        """Return the tool that calls ``function``."""
        return Tool(self.name, self.description, self.parameters, function)


def parameters(required: Mapping[str, Schema], **optional: Schema) -> Schema:
    """Return the JSON schema of a function's arguments."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def described(text: str, schema: Schema = TEXT) -> Schema:
    """Return ``schema`` with a description."""
    return {**schema, "description": text}
