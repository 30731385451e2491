"""The public face: its names, their docstrings, and its synchronous and asynchronous sides."""

import inspect
from collections.abc import Callable
from importlib.metadata import version
from types import ModuleType

from tables import each_row

import memoranda
from memoranda import AsyncMemory, Conversation, Memory, Remote
from memoranda.aio import AsyncAdmin, AsyncConversation, AsyncNotes
from memoranda.maintenance.users import Admin
from memoranda.notes.sync import SyncedNotes
from memoranda.remote.memory import RemoteAdmin, RemoteConversation, RemoteNotes

PUBLIC = {
    "UNSET",
    "Agent",
    "AsyncConversation",
    "AsyncMemory",
    "Context",
    "Conversation",
    "Entity",
    "Hit",
    "Memory",
    "Message",
    "Recall",
    "Record",
    "Remote",
    "Settings",
    "__version__",
    "errors",
}
FACES = [(Memory, AsyncMemory), (Conversation, AsyncConversation)]
VERBS = [
    (plain, asynchronous, verb)
    for plain, asynchronous in FACES
    for verb in sorted({v for face in (plain, asynchronous) for v in dir(face) if v[0] != "_"})
    # Another way to make a face is no verb, and what a person looks at is for a program's doors.
    if not isinstance(inspect.getattr_static(plain, verb, None), classmethod)
    and verb not in {"stored_conversations", "recount"}
]
# What the faces do not share: a coroutine cannot be called by len().
OWN = {(Conversation, "count"), (Memory, "open")}
# What is a property of a conversation that waits for no disk.
READ = {"messages", "prunings", "session", "system", "tombstones"}
# Synchronous on both sides, because they read and write nothing.
IMMEDIATE = {"as_user", "files", "on", "tools", "consolidator_tools"}


# What a memory on a server has not, and why.
NOT_REMOTE = {
    "as_user": "a token opens the memory of one user",
    "settings": "they are the server's",
    "on": "a server tells of events at /v1/events",
    "stored_conversations": "for the doors of this package",
    "consolidator_tools": "an agent that consolidates works where the memory is",
    **dict.fromkeys(("schedule", "run_upkeep"), "the server does its own upkeep"),
    **dict.fromkeys(("embed_pending", "reembed"), "memoranda doctor on the server does it"),
    **dict.fromkeys(("backup", "copy_to"), "a place on the server, whose operator has commands"),
    **dict.fromkeys(("over", "recount"), "for whoever opens a conversation in this process"),
    "files": "a server has no routes for them; its items are there",
    **dict.fromkeys(("count_tools", "calibrate"), "a server keeps nothing between two requests"),
    "session": "of a conversation in this process",
    "tombstones": "of a conversation in this process",
    **dict.fromkeys(("folder", "is_over", "sync"), "the files are the server's"),
}
REMOTE_VERBS = [
    (plain, remote, verb)
    for plain, remote, named in (
        (Memory, Remote, Memory),
        (Conversation, RemoteConversation, Conversation),
        (SyncedNotes, RemoteNotes, AsyncNotes),
        (Admin, RemoteAdmin, AsyncAdmin),
    )
    for verb in sorted({*dir(named), *dir(remote)})
    if verb[0] != "_"
]


# Verb → its keyword arguments whose default is not None, and the others.
ARGUMENTS = {
    "remember": (
        {"kind": "fact", "namespace": (), "tags": (), "confidence": 1.0},
        "key metadata event_time valid_until session role trust origin decay_rate",
    ),
    "search": (
        {"limit": 5, "offset": 0},
        "kind namespace min_score session exclude_session tags metadata since until as_of",
    ),
    "records": (
        {"newest_first": False, "limit": 100, "offset": 0},
        "kind namespace session tags metadata since until after",
    ),
    "count": ({}, "kind namespace session tags metadata since until"),
    "conversation": ({}, "system model context_limit max_tokens max_messages keep_recent strategy"),
}


def parameters(function: Callable) -> list[tuple[str, object, object]]:
    """Return name, kind and default of each parameter."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def test_the_public_names_are_these():
    """``memoranda`` exports what the design fixes, and nothing else."""
    assert set(memoranda.__all__) == PUBLIC
    assert len(memoranda.__all__) == len(PUBLIC)
    assert all(hasattr(memoranda, name) for name in PUBLIC)


@each_row("name", sorted(PUBLIC))
def test_public_names_are_documented(name: str):
    """Every public name, and every public method of it, has a docstring of its own."""
    thing = getattr(memoranda, name)
    if name == "__version__":
        assert thing == version("memoranda")
        return
    assert (thing.__doc__ or "").strip()
    if isinstance(thing, ModuleType):
        return
    missing = [
        member
        for member, value in vars(thing).items()
        if not member.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod))
        and not (value.__doc__ or "").strip()
    ]
    assert not missing


@each_row(("plain", "asynchronous", "verb"), VERBS)
def test_both_faces_have_the_same_verbs(plain: type, asynchronous: type, verb: str):
    """A verb of one face is on the other, with the same parameters; metadata are metadata."""
    if (plain, verb) in OWN:
        assert not hasattr(plain, verb)
        return
    ours, theirs = (inspect.getattr_static(face, verb, None) for face in (plain, asynchronous))
    assert ours is not None, f"{plain.__name__} has no {verb}"
    assert theirs is not None, f"{asynchronous.__name__} has no {verb}"
    if verb in READ and plain is Conversation:
        assert isinstance(ours, property)
        assert inspect.iscoroutinefunction(theirs)
        return
    if isinstance(ours, property) or isinstance(theirs, property):
        assert type(ours) is type(theirs)
        return
    assert parameters(getattr(plain, verb)) == parameters(getattr(asynchronous, verb))
    assert not inspect.iscoroutinefunction(ours)
    assert inspect.iscoroutinefunction(theirs) == (verb not in IMMEDIATE)


@each_row(("plain", "remote", "verb"), REMOTE_VERBS)
def test_a_server_does_the_same_verbs(plain: type, remote: type, verb: str):
    """A verb is there with the same parameters, or is named above with the reason why not."""
    ours, theirs = (inspect.getattr_static(face, verb, None) for face in (plain, remote))
    if verb in NOT_REMOTE:
        assert theirs is None
        return
    assert ours is not None, f"{plain.__name__} has no {verb}"
    assert theirs is not None, f"{remote.__name__} has no {verb}"
    if isinstance(ours, property):
        assert isinstance(theirs, property)
        return
    assert parameters(ours) == parameters(theirs)


@each_row("verb", sorted(ARGUMENTS))
def test_a_signature_lists_every_argument(verb: str):
    """Help and editors show what a verb takes, with its defaults, on both faces."""
    other, without = ARGUMENTS[verb]
    for face in (Memory, AsyncMemory):
        shown = inspect.signature(getattr(face, verb)).parameters.values()
        given = {each.name: each.default for each in shown if each.kind is each.KEYWORD_ONLY}
        assert given == other | dict.fromkeys(without.split())
