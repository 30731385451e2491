"""Lines of standard input that are no message: each is answered, so that no client waits for it."""

from __future__ import annotations

import json

from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

MESSAGE = (
    "this line is not a JSON-RPC 2.0 message in UTF-8; write each message as one line of JSON, "
    "without halves of surrogate pairs"
)


async def pass_messages(
    source: ReadStream[SessionMessage | Exception],
    target: WriteStream[SessionMessage | Exception],
    answers: WriteStream[SessionMessage],
) -> None:
    """Pass the messages of ``source`` on to ``target``; answer each malformed line with an error.

    Args:
        source: messages of a client, and an exception for each malformed line.
        target: what serves the messages.
        answers: what the client reads.
    """
    async with target:
        async for item in source:
            if isinstance(item, Exception):
                error = ErrorData(code=PARSE_ERROR, message=MESSAGE)
                answer = JSONRPCError(jsonrpc="2.0", id=_request_id(item), error=error)
                await answers.send(SessionMessage(answer))
            else:
                await target.send(item)


def _request_id(problem: Exception) -> int | str | None:
    """Return the id of the request in a malformed line, if Python can read the line as JSON."""
    if not isinstance(problem, ValidationError):
        return None
    line = problem.errors()[0]["input"]
    try:
        request = json.loads(line) if isinstance(line, str) else None
    except (ValueError, RecursionError):
        return None
    found = request.get("id") if isinstance(request, dict) else None
    readable = type(found) is int or (isinstance(found, str) and found.isascii())
    return found if readable else None
