"""Made-up transcripts and exports of other programs, for the tests of imports."""

import json
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
SESSION = "5b1f0c1e-2222-4000-8000-000000000001"


def at(number):
    """The moment of a line, as transcripts write it."""
    return (START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")


def line(number, type, message, **more):
    """A line of a transcript of Claude Code."""
    shape = {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ana/shop",
        "sessionId": SESSION,
        "version": "2.1.40",
        "type": type,
        "message": message,
        "uuid": f"u{number}",
        "timestamp": at(number),
    }
    return shape | more


def person(number, content, **more):
    """What the person typed, or what tools gave back."""
    return line(number, "user", {"role": "user", "content": content}, **more)


def agent(number, *blocks, answer=None, **more):
    """A block of an answer; blocks of one answer stand on lines of their own."""
    message = {"role": "assistant", "id": answer or f"a{number}", "content": list(blocks)}
    return line(number, "assistant", {"model": "claude-x", **message}, **more)


def text(words):
    """A block of text."""
    return {"type": "text", "text": words}


def use(call, name, **arguments):
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def gave(call, content, **more):
    """A block with what a tool gave back."""
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def transcript(folder, lines, name=SESSION, ending="\n"):
    """Write a transcript."""
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)) + ending, encoding="utf-8")
    return path


def node(key, parent, words=None, role="user", **more):
    """A node of a conversation of ChatGPT."""
    message = None
    if words is not None:
        content = words if isinstance(words, dict) else {"content_type": "text", "parts": [words]}
        message = {"id": key, "author": {"role": role}, "content": content, "metadata": {}} | more
    return {key: {"id": key, "message": message, "parent": parent, "children": []}}


def chatgpt(*nodes, current, **more):
    """A conversation of ChatGPT."""
    mapping = {key: value for each in nodes for key, value in each.items()}
    return {
        "title": "A trip",
        "create_time": START.timestamp(),
        "conversation_id": "c1",
        "mapping": mapping,
        "current_node": current,
    } | more


def claude(*messages, **more):
    """A conversation of claude.ai."""
    return {
        "uuid": "k1",
        "name": "A garden",
        "created_at": at(0),
        "account": {"uuid": "x"},
        "chat_messages": list(messages),
    } | more


def wrote(number, sender, words, **more):
    """A message of claude.ai."""
    return {
        "uuid": f"w{number}",
        "sender": sender,
        "text": words,
        "content": [text(words)],
        "created_at": at(number),
        "attachments": [],
        "files": [],
    } | more


def written(path, value):
    """Write one JSON value."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
