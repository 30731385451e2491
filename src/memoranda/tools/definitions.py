"""The ten tools of memory: what each is called, says of itself and takes (``definitions.toml``).

:meth:`memoranda.Memory.tools` and the MCP server both offer what stands there, and both have
:class:`~memoranda.tools.agent.AgentTools` do it. Nothing that is heavy to import is needed: a
server lists its tools before it opens a memory.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoranda.model.chat import ToolSpec

FILE = Path(__file__).with_name("definitions.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition(ToolSpec):
    """A tool, as it is described to a model and to its client.

    Attributes:
        title: what a person reads in the place of its name.
        reads: whether it changes nothing.
        takes_away: whether what was there may not be found any more.
        repeatable: whether a second call with the same arguments changes nothing more, though the
            first one does.
    """

    title: str
    reads: bool = False
    takes_away: bool = False
    repeatable: bool = False


def _read_tools() -> Iterable[ToolDefinition]:
    """Yield the tools of the file; each names what it takes by the arguments of the file."""
    file = tomllib.loads(FILE.read_text("utf-8"))
    for tool in file["tools"]:
        takes: Mapping[str, Any] = tool.pop("takes", {})
        schema = {
            "type": "object",
            "properties": {name: file["arguments"][kind] for name, kind in takes.items()},
            "required": tool.pop("required", []),
            "additionalProperties": False,
        }
        yield ToolDefinition(parameters=schema, **tool)


DEFINITIONS = {each.name: each for each in _read_tools()}
# The first three are the basic ones (requirement S1.29).
BASIC = 3
