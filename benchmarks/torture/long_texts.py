"""Texts of 100 KB on which patterns used to backtrack, and their kin, through every verb."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Mapping

from benchmarks.torture.figures import Figure, Task
from benchmarks.torture.pumping import (
    GOAL_RATIO,
    GOAL_SECONDS,
    LIMIT,
    QUADRATIC,
    SIZE,
    SMALLER,
    Worst,
    cpu_seconds,
)
from benchmarks.torture.verbs import opened
from memoranda import Conversation, Memory

# Of times below this many seconds the growth is no matter: a verb has costs of its own.
NOTEWORTHY = 0.4
# Before, what is repeated, and after.
TEXTS: Mapping[str, tuple[str, str, str]] = {
    "thanks": ("", "Thank you so much! ", "Bob"),
    "more thanks": ("", "thank you ", "zzz"),
    "moved": ("Please remember that I moved ", "back from a out ", "x."),
    "stop": ("Stop", " this roleplay", " zzz"),
    "colons": ("", ":", ""),
    "points": ("", ".", ""),
    "pairs": ("", "a-", ""),
    "spaces": ("", " ", "x"),
    "lines": ("", "\n", "x"),
    "sentences": ("", "I live in Berlin. ", ""),
    "requests": ("", "Please remember that I like tea. ", ""),
    "names": ("", "Ana Maria ", "x"),
    "dates": ("", "on 5 May 2023 ", ""),
    "ago": ("", "two weeks ago last ", ""),
    "quotes": ("", '"', ""),
    "brackets": ("", "[(", ""),
    "letters": ("", "ä", ""),
    "one word": ("", "a", ""),
    "digits": ("", "7", "x"),
    "groups of digits": ("", "4111 ", "x"),
    "signs": ("", "日本", ""),
    "bullets": ("", "- a\n", ""),
    "headings": ("", "# a\n", ""),
    "comments": ("", "<!-- ", ""),
    "marks": ("", "<memoranda-memory ", ""),
    "code": ("", "`", "x"),
    "addresses": ("", "a@b.", "c"),
    "links": ("", "https://x.example/a?b=", ""),
    "commas": ("", "my dog, ", "and"),
    "questions": ("", "where do I live? ", ""),
    "pictures": ("", "👩‍👩‍👧", ""),
    "combining": ("a", "\u0301", ""),
    "backslashes": ("", "\\", '"'),
    "braces": ("", '{"a":', ""),
}


def make(name: str, size: int) -> str:
    """Return a text of about so many characters."""
    before, unit, after = TEXTS[name]
    return before + unit * (size // len(unit)) + after


Use = Callable[[Memory, str], object]


def _told(memory: Memory, text: str) -> Conversation:
    chat = memory.conversation("talk")
    chat.add("user", text)
    return chat


def _import(memory: Memory, text: str) -> object:
    return memory.conversation("talk").extend(json.loads(json.dumps(_messages(text))))


def _messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": text}]


# What is done before, and is not measured; and the verb.
VERBS: Mapping[str, tuple[Use, Use]] = {
    "remember": (lambda m, t: None, lambda m, t: m.remember(t)),
    "remember_many": (lambda m, t: None, lambda m, t: m.remember_many([t, f"{t} again"])),
    "item": (lambda m, t: None, lambda m, t: m.remember(t, kind="item", key="k")),
    "set_context": (lambda m, t: None, lambda m, t: m.set_context("key", t)),
    "search": (lambda m, t: m.remember("Ana sails."), lambda m, t: m.search(t)),
    "search for it": (lambda m, t: m.remember(t), lambda m, t: m.search("what about tea?")),
    "search by it": (lambda m, t: m.remember(t), lambda m, t: m.search(t)),
    "recall": (lambda m, t: m.remember("Ana sails."), lambda m, t: m.recall(t)),
    "recall it": (lambda m, t: m.remember(t), lambda m, t: m.recall("what about tea?")),
    "recall by it": (lambda m, t: m.remember(t), lambda m, t: m.recall(t)),
    "facts": (lambda m, t: m.remember(t), lambda m, t: m.facts(t)),
    "correct": (
        lambda m, t: m.remember("Ana sails.", kind="context"),
        lambda m, t: m.correct(m.records()[0].id, t),
    ),
    "forget": (lambda m, t: m.remember(t), lambda m, t: m.forget(m.records()[0].id)),
    "erase": (lambda m, t: m.remember(t), lambda m, t: m.forget(m.records()[0].id, erase=True)),
    "derive": (lambda m, t: m.remember(t), lambda m, t: m.derive()),
    "entity": (lambda m, t: m.remember("Ana sails."), lambda m, t: m.entity(t)),
    "entities": (lambda m, t: m.remember(t), lambda m, t: m.entities()),
    "add": (lambda m, t: None, _told),
    "extend": (lambda m, t: None, _import),
    "view": (_told, lambda m, t: m.conversation("talk").view()),
    "context": (_told, lambda m, t: m.conversation("talk").context("And tea?", budget=4_000)),
    "context for it": (_told, lambda m, t: m.conversation("other").context(t, budget=1_000_000)),
    "prune": (_import, lambda m, t: m.conversation("talk").prune(max_tokens=60_000)),
    "replace": (
        _told,
        lambda m, t: m.conversation("talk").replace(
            [m.conversation("talk").messages[0].id], _messages(t)
        ),
    ),
    "end": (_told, lambda m, t: m.conversation("talk").end()),
    "consolidate": (_told, lambda m, t: m.consolidate()),
    "reflect": (_told, lambda m, t: m.maintain()),
    "delete conversation": (_told, lambda m, t: m.delete_conversation("talk", erase=True)),
    "append_history": (lambda m, t: None, lambda m, t: m.notes.append_history(t)),
    "notes search": (
        lambda m, t: m.notes.append_history(t),
        lambda m, t: m.notes.search(t[:9].strip() or "x"),
    ),
    "write_memory": (lambda m, t: None, lambda m, t: m.notes.write_memory(f"# Memory\n\n- {t}\n")),
    "notes sync": (lambda m, t: m.remember(t), lambda m, t: m.notes.sync()),
    "audit": (lambda m, t: m.remember(t), lambda m, t: m.audit()),
    "doctor": (lambda m, t: m.remember(t), lambda m, t: m.doctor()),
    "tool store_memory": (
        lambda m, t: None,
        lambda m, t: m.tools().find("store_memory").call({"content": t}),
    ),
    "tool search_memories": (
        lambda m, t: m.remember(t),
        lambda m, t: m.tools().find("search_memories").call({"query": t}),
    ),
    "verify": (lambda m, t: m.remember(t), lambda m, t: m.verify()),
    "rebuild": (lambda m, t: m.remember(t), lambda m, t: m.rebuild()),
}


def run(task: Task) -> list[Figure]:
    """Return the worst of as many verbs and texts as the time allows, in an order of chance."""
    pairs = [(verb, text) for verb in VERBS for text in TEXTS]
    random.Random(task.seed).shuffle(pairs)  # noqa: S311 - no secret
    worst, slow = Worst(), []
    logging.disable()
    _seconds("reflect", make("sentences", 2_000))  # What reads a language is compiled now.
    for verb, text in pairs:
        if task.over:
            break
        seconds, ratio = _seconds(verb, make(text, SIZE)), None
        if seconds > NOTEWORTHY:  # What is compiled or loaded at the first use is no matter.
            seconds = min(seconds, _seconds(verb, make(text, SIZE)))
        if seconds > NOTEWORTHY:
            ratio = seconds / max(_seconds(verb, make(text, SMALLER)), 0.01)
        worst.add(f"{verb}, {text}", seconds, ratio)
        if seconds > GOAL_SECONDS:
            growth = "" if ratio is None else f", x{ratio:.1f} for x4"
            slow.append((seconds, f"{verb}, {text}: {seconds:.2f} s{growth}"))
    logging.disable(logging.NOTSET)
    return [
        Figure(
            f"{len(VERBS)} verbs on {len(TEXTS)} texts of 100 KB",
            f"<= {GOAL_SECONDS:g} s of the processor",
            f"{worst.measured:,} of {len(pairs):,} pairs, {len(slow)} slower, worst "
            f"{worst.seconds:.2f} s ({worst.slowest}), worst growth x{worst.ratio:.1f} for x4",
            held=worst.seconds < LIMIT and worst.ratio < QUADRATIC,
            reached=not slow and worst.ratio <= GOAL_RATIO,
            details=tuple(line for _, line in sorted(slow, reverse=True)),
        )
    ]


def _seconds(verb: str, text: str) -> float:
    """Return the time of the processor that a verb takes with a text."""
    prepare, use = VERBS[verb]
    with opened(":memory:") as memory:
        prepare(memory, text)
        return cpu_seconds(lambda given: use(memory, given), text)
