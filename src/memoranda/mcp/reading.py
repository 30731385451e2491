"""Resources and prompts: what a person or a client puts before a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import Field

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.mcp.tools import caller, told_to_client, tools_of
from memoranda.model.models import is_active
from memoranda.rendering.forms import format_json
from memoranda.serving.late import LateMemory
from memoranda.text.recalled import NOTHING

if TYPE_CHECKING:
    from memoranda.tools.agent import AgentTools

Value = TypeVar("Value")

MEMORY = "memoranda://notes/MEMORY.md"
HISTORY = "memoranda://notes/HISTORY.md"
INSIGHT = "memoranda://insight/weekly"
RECORD = "memoranda://records/{id}"
MARKDOWN = "text/markdown"
REMEMBER = (
    "Go through this session and store what will still matter in later ones, each with "
    "store_memory as one self-contained sentence with names and absolute dates: facts about me "
    "and my work, decisions with their reasons, preferences. Search memory first, and store "
    "nothing that is known already. Leave out small talk, secrets such as passwords and keys, "
    "and what only matters today. Then list what you stored."
)


def add_resources(server: MCPServer[Any], memory: LateMemory) -> None:
    """Let ``server`` offer notes, the weekly insight and records of whoever reads."""

    @server.resource(MEMORY, name="MEMORY.md", title="Notes", mime_type=MARKDOWN)
    def notes() -> str:
        """What is known of the user, as Markdown that a person can read and edit."""
        return _read(
            memory, lambda own: own.searcher.show_text(own.notes().context_text(make=True))
        )

    @server.resource(HISTORY, name="HISTORY.md", title="History", mime_type=MARKDOWN)
    def history() -> str:
        """What happened in earlier sessions, oldest first."""
        return _read(memory, lambda own: own.searcher.show_text(own.notes().read_history()))

    @server.resource(INSIGHT, name="weekly insight", title="Weekly insight", mime_type=MARKDOWN)
    def insight() -> str:
        """The newest look back on a week; empty until there is one."""
        found = _read(memory, lambda own: own.searcher.latest_insight(own.records.now()))
        return "" if found is None else found.content

    @server.resource(RECORD, name="record", title="Memory by id", mime_type="application/json")
    def record(id: str) -> str:
        """One memory with its source, times and confidence."""
        return _read(memory, lambda own: _show_record(own, id))


def add_prompts(server: MCPServer[Any], memory: LateMemory) -> None:
    """Let ``server`` offer a question with what memory has on it, and the keeping of a session."""

    @server.prompt(title="Recall")
    def recall(question: Annotated[str, Field(description="What you want to know or do.")]) -> str:
        """Ask a question together with what memory has on it."""
        try:
            found = memory.of(caller()).recall(question, budget=2_000)
        except MemorandaError as error:
            raise MCPError(code=INVALID_PARAMS, message=told_to_client(error)) from error
        return f"{found.text or NOTHING}\n\n{question}"

    @server.prompt(title="Remember this session")
    def remember_this_session() -> str:
        """Store what is worth keeping of this session."""
        return REMEMBER


def _read(memory: LateMemory, read: Callable[[AgentTools], Value]) -> Value:
    """Return what is read of the caller's memory; an error of ours is told."""
    try:
        return read(tools_of(memory))
    except InvalidInput as error:
        raise ResourceNotFoundError(str(error)) from error
    except MemorandaError as error:
        raise ResourceError(told_to_client(error)) from error


def _show_record(own: AgentTools, id: str) -> str:
    """Return an active record as JSON; one that was forgotten is not shown."""
    found = own.records.find(id)
    if found is None or not is_active(found, own.records.now()):
        raise ResourceNotFoundError(f"there is no memory {id!r:.80}")
    return format_json(own.searcher.show(found), indent=2)
