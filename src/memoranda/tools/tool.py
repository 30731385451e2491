"""One tool: a function that a model may call, and how it is described to it."""

from __future__ import annotations

import inspect
import json
from asyncio import to_thread
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from memoranda.errors import InvalidInput, NotFound

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
# Characters of what a model is told of its mistake, which may quote what it gave.
LONGEST_ERROR = 600


class Signature:
    """The signature of a tool, where frameworks look for that of a function."""

    def __get__(self, tool: Tool | None, owner: type | None = None) -> inspect.Signature:
        """Return the arguments that a model may give, all of them by name."""
        if tool is None:  # The class has the signature of its own constructor.
            raise AttributeError
        signature = inspect.signature(tool.function, eval_str=True)
        own = signature.parameters.values()
        named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        return signature.replace(parameters=named)


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

    @classmethod
    def of(cls, function: Callable[..., str]) -> Self:
        """Return the tool that a function is, with its name, its docstring and its arguments.

        Each argument is annotated with its schema: ``Annotated[str, described("What it is.")]``.
        """
        arguments = inspect.signature(function, eval_str=True).parameters.values()
        schema = {
            "type": "object",
            "properties": {each.name: each.annotation.__metadata__[0] for each in arguments},
            "required": [each.name for each in arguments if each.default is each.empty],
            "additionalProperties": False,
        }
        description = " ".join((function.__doc__ or "").split())
        return cls(function.__name__, description, schema, function)

    @property
    def __name__(self) -> str:
        """The name, as of any function: frameworks look here."""
        return self.name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The description, as of any function."""
        return self.description

    def __call__(self, /, **arguments: Any) -> str:
        """Call the function with what a model gave as arguments; null is as not given."""
        takes = self.parameters.get("properties", {})
        optional = takes.keys() - self.parameters.get("required", ())
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in optional
        }
        try:
            inspect.signature(self.function).bind(**given)
        except TypeError as error:
            known = ", ".join(takes) or "none"
            return _shorten(f"Error: {self.name}: {error}; its arguments are: {known}")
        try:
            return self.function(**given)
        except (InvalidInput, NotFound) as error:
            return _shorten(f"Error: {error}")

    def call(self, arguments: str | Mapping[str, Any] | None = None) -> str:
        """Call the function with arguments as providers give them: JSON text, or a mapping."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except ValueError as error:
                return _shorten(f"Error: {self.name}: the arguments are no JSON: {error}")
        elif arguments is None:
            arguments = {}
        if not isinstance(arguments, Mapping):
            return f"Error: {self.name}: the arguments must be an object, got {arguments!r:.80}"
        return Tool.__call__(self, **{str(name): value for name, value in arguments.items()})

    def openai(self) -> dict[str, Any]:
        """Return it in the form of OpenAI's chat completions."""
        about = {"name": self.name, "description": self.description}
        return {"type": "function", "function": {**about, "parameters": dict(self.parameters)}}

    def anthropic(self) -> dict[str, Any]:
        """Return it in the form of Anthropic's messages."""
        about = {"name": self.name, "description": self.description}
        return {**about, "input_schema": dict(self.parameters)}


def _shorten(error: str) -> str:
    return error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"


class AsyncTool(Tool):
    """A tool for code that must not block: awaited, it does its work in a thread."""

    __slots__ = ()
    __doc__ = Tool.__doc__  # Of a tool that is its description.

    async def __call__(self, /, **arguments: Any) -> str:  # type: ignore[override]
        """Call the function with what a model gave as arguments."""
        return await to_thread(Tool.__call__, self, **arguments)

    async def call(  # type: ignore[override]
        self, arguments: str | Mapping[str, Any] | None = None
    ) -> str:
        """Call the function with arguments as providers give them."""
        return await to_thread(Tool.call, self, arguments)


def described(text: str, schema: Schema = TEXT) -> Schema:
    """Return ``schema`` with a description."""
    return {**schema, "description": text}
