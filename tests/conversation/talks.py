"""What the tests of conversations share: settings of no machine, listeners, laws of views."""

from dataclasses import replace

import tombstones as removed
from provider_rules import problems_openai

from memoranda import Conversation, Memory, Settings, errors
from memoranda.model.models import ToolCall
from memoranda.testing.embedders import HashEmbedder
from memoranda.tokens.catalog import Catalog

ALL = 10**9  # a budget that everything fits
REPLY = 3  # tokens that open a reply in the format of OpenAI
PATIENCE = 30.0
STRATEGIES = ("rolling_window", "recency", "importance", "hybrid")
EVENTS = ("added", "approaching_limit", "pruned", "task_boundary", "removed")
PICTURE = "https://example.org/plan.png"
FINISHED = "Task complete. Refactored 3 files."
NEXT = "Now let's work on the tests"


def chosen(**conversation):
    """Return settings with these of conversations, and no embedding model."""
    return Settings(conversation=conversation, timezone="UTC", embedding={"model": "none"})


def alone(*, settings=None, **arguments):
    """Return a conversation in memory alone; many messages fit unless ``arguments`` say else."""
    arguments.setdefault("max_messages", 10_000)
    return Conversation(settings=settings or chosen(), **arguments)


def affordable(act, budget):
    """Return what ``act`` gives for a budget, or else for the one that it says it needs."""
    try:
        return act(budget)
    except errors.BudgetTooSmall as error:
        small = error
    assert small.needed > small.budget
    assert f"{small.needed - small.budget:,}" in str(small)
    return act(small.needed)


def after(said, **arguments):
    """Return a conversation in which these messages were said, as far as they say anything."""
    chat = alone(**arguments)
    said = [m for m in said if m.content.strip() or m.images or m.tool_calls or m.tool_result]
    known = chat.extend(replace(message, pinned=False) for message in said)
    for message, drawn in zip(known, said, strict=True):
        if drawn.pinned:
            chat.pin(message.id)
    return chat


def remembering(path, *, embedder=None, **conversation):
    """Return Ana's memory in the file ``path``; the caller closes it."""
    embedder = embedder or HashEmbedder()
    return Memory(path, user="ana", embedder=embedder, settings=chosen(**conversation))


def sized(tokens):
    """Return a text that takes so many tokens as a message, from 6 on.

    A count without a known tokenizer has a margin of one in fifty: 54, 105 … come out as one less.
    """
    return "word " * (tokens - 5 - (tokens - 3) // 51)


def fill(chat, sizes, roles=("user", "assistant")):
    """Add messages of these sizes, the roles in turn; return them."""
    return [chat.add(roles[index % len(roles)], sized(size)) for index, size in enumerate(sizes)]


def chatter(chat, count, about="the weather in town"):
    """Add so many short messages, users and assistants in turn; return them."""
    roles = ("user", "assistant")
    return [chat.add(roles[n % 2], f"Remark {n} about {about}.") for n in range(count)]


def exchange(chat, name, result="found"):
    """Add a tool call and its result; return both."""
    call = chat.add("assistant", "", tool_calls=[ToolCall(name, "look_up", '{"q": "tea"}')])
    return call, chat.add("tool", result, tool_result=name)


def heard(chat, *names):
    """Return the list to which the events of these names, or of all, will be added."""
    found = []
    for name in names or EVENTS:
        chat.on(name, found.append)
    return found


def named(events, name):
    """Return the subjects of the events of one name."""
    return [event.subject for event in events if event.name == name]


def live(chat):
    """Return the ids of the messages that no pruning took out."""
    out = {place for cut in cuts(chat) for place in range(cut.first, cut.last + 1)}
    return {message.id for message in chat.messages if message.position not in out}


def cuts(chat):
    """Return the cuts of all receipts, oldest first."""
    return [cut for receipt in chat.prunings for cut in receipt.cuts]


def used(chat):
    """Return the tokens of a context with everything that is live, as triggers count them."""
    return chat.stats().total_tokens


def meter(model=None):
    """Return what measures messages for a model."""
    return Catalog().meter(model)


def tombstones(chat):
    """Return what is left of removed messages, oldest first."""
    return removed.tombstones(chat._transcript.store, chat._transcript.scope, chat.id)


def places(shown):
    """Return the positions that a view accounts for: shown, waiting or under a marker."""
    found = [message.position for message in (*shown.messages, *shown.waiting)]
    for marker in shown.markers:
        found += range(marker.first, marker.last + 1)
    return sorted(found)


def accounted(chat, shown):
    """Return the ids of all messages in view, waiting, or under a marker, which expands to them."""
    found = [message.id for message in (*shown.messages, *shown.waiting)]
    for marker in shown.markers:
        hidden = chat.expand(marker)
        assert len(hidden) == marker.messages
        found += [message.id for message in hidden]
    return sorted(found)


def texts(messages):
    """Return what messages say."""
    return [message.content for message in messages]


def lawful(chat, budget=None):
    """Return the view after checking laws 1 to 3 on it; nobody else may change it now."""
    shown = chat.view(budget)
    if budget is not None:
        assert shown.tokens <= budget
    assert places(shown) == [message.position for message in chat.messages]
    known = {message.id: message for message in chat.messages}
    hidden = [item for marker in shown.markers for item in chat.expand(marker)]
    whole = {item.id for item in shown.messages} - dict(shown.shortened).keys()
    assert all(item == known[item.id] for item in hidden)
    assert all(item == known[item.id] for item in shown.messages if item.id in whole)
    fixed = {m.id for m in known.values() if m.role == "system" or m.pinned}
    orphans = {item.id for item in shown.orphans}
    assert fixed <= {item.id for item in shown.messages} | orphans
    assert problems_openai(chat.context(budget=ALL).messages) == []
    return shown
