"""What the definitions of tools cost that are sent beside the messages (requirement N2.1).

OpenAI shows them to a model in a notation of its own, and its cookbook publishes a recipe for the
tokens of that. Anthropic tells how long the system prompt is that it adds. Other models read the
definitions as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memoranda.model.chat import ToolSpec
from memoranda.model.checks import json_text, several
from memoranda.model.ports import TokenCounter
from memoranda.text.json_values import object_of

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


def count_tools(
    definitions: Iterable[ToolSpec | Mapping[str, Any]], counter: TokenCounter, form: ToolFormat
) -> int:
    """Return how many tokens the definitions of tools take in a request.

    Args:
        definitions: specifications, or dicts in the form of OpenAI or Anthropic.
        counter: counts the texts in them.
        form: how the provider shows them.

    Raises:
        InvalidInput: JSON cannot hold one of them.
    """
    tokens = [
        form.each + _count_tool(each, counter.count, form) for each in several(definitions, "tools")
    ]
    return form.once + sum(tokens) if tokens else 0


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
