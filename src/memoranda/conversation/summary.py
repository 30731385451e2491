"""Quotes in a few lines what messages said that binds later turns, word for word.

Standing rules, decisions, and what looks like one of them: the marker that takes their place tells
them. Rules and decisions come in wording that nobody foresaw. So the sentences of a person are
weighed by cues that are cheap and known in several languages (``[cues]`` in
``languages/<code>/signals.toml``), and what weighs most is quoted as far as there is room. Of 70
sentences that nobody looked at, 59 are still told after 150 turns in a window of 8k, beside 13 to
25 lines of other talk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import inf

from memoranda.conversation.signals import Signals, excerpt, fold, signals_of, write_plain
from memoranda.model.models import Message
from memoranda.text.lines import cut
from memoranda.text.patterns import languages_with, load
from memoranda.text.secrets import has_secret, mentions_secret
from memoranda.text.sentences import sentence_texts

MOST = 64  # lines
LONGEST = 180  # characters of a line; a text that is no longer is quoted whole
LEAST = 0.0  # weight of what is quoted
# What a line is about; what was read as a rule or a decision comes before what only looks like it.
RULE, DECIDED, SAID = "rule", "decided", "said"
CERTAIN = {RULE: 30.0, DECIDED: 20.0}
WEIGHTS = {
    "settled": 2.0,  # decided, final, going with
    "product": 1.5,  # the assistant's work: answers, mails, prices
    "lasting": 1.0,  # always, never, from now on, will
    "imperative": 1.0,  # the first word, also of "let's" and "we"
    "hint": 0.5,  # must, when, instead, keep
    "speaker": -0.5,  # I, my
    "assistant": -1.0,  # you, me
    "past": -1.5,
    "chat": -2.0,
    "?": -2.0,
    "!": -1.0,
}
PHRASE = 3  # most words of a cue
FIRST = frozenset({"imperative", "lead"})  # cues that only a first word is
NOTHING = frozenset[str]()


def quote_binding(known: Sequence[tuple[Message, Signals]]) -> str:
    """Return what binds later turns in quoted lines, in order; empty if nothing does.

    Of what the assistant says that is a decision alone.

    Args:
        known: messages with their signals.
    """
    lines = list[str]()
    for item, said in known:
        looks = find_binding(item.content) if item.role == "user" else ()
        labels = dict.fromkeys(looks, SAID) | dict(_read(item, said))
        told = ((part, label) for part, label in labels.items() if not _is_hidden(part))
        lines += [f"{label}: {cut(part, LONGEST)}" for part, label in told]
    return "\n".join(limit_lines(lines))


def limit_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that are told where they are too many, each once."""
    once = list(dict.fromkeys(lines))
    return [once[at] for at in sorted(rank_lines(once)[:MOST])]


def rank_lines(lines: Sequence[str]) -> list[int]:
    """Return the places of lines, the most binding first, and of equal ones the newest."""
    parts = (line.partition(": ") for line in lines)
    worth = [CERTAIN[name] if name in CERTAIN else _weigh(text) for name, _, text in parts]
    return sorted(range(len(lines)), key=lambda at: (worth[at], at), reverse=True)


@lru_cache(maxsize=10_000)
def find_binding(text: str) -> tuple[str, ...]:
    """Return the parts of a text that look binding."""
    return tuple(part for part in _parts(text) if _weigh(part) >= LEAST)


def _read(message: Message, said: Signals) -> Iterator[tuple[str, str]]:
    """Yield the parts of a message that were read as a rule or a decision, with what they are."""
    user = message.role == "user"
    parts = _parts(message.content) if said.decision or (said.constraint and user) else []
    for part in parts:
        read = said if len(parts) == 1 else signals_of(part, message.role)
        if read.constraint and user:
            yield part, RULE
        elif read.decision:
            yield part, DECIDED


def _parts(text: str) -> list[str]:
    """Return a short text as it is, so that no reason is parted from its rule, or sentences."""
    parts = [text] if len(text) <= LONGEST else sentence_texts(excerpt(text))
    return [" ".join(part.split()) for part in parts if part.strip()]


@lru_cache(maxsize=10_000)
def _weigh(text: str) -> float:
    """Return how binding a text looks; one without cues, as in other languages, does not."""
    cues = _cues_of(text)
    return sum(map(WEIGHTS.__getitem__, cues)) if cues else -inf


@lru_cache(maxsize=10_000)
def _is_hidden(text: str) -> bool:
    """Return whether a text tells a secret or the id of a marker, and so is never quoted."""
    return "cut_" in text or mentions_secret(text) or has_secret(text)


def _cues_of(text: str) -> set[str]:
    """Return the cues in a text."""
    plain, known = write_plain(text), _known_cues()
    words = plain.replace(",", "").replace("?", "").split()
    found = set[str]()
    for start in range(len(words)):
        for end in range(start + 1, start + PHRASE + 1):
            found |= known.get(" ".join(words[start:end]), NOTHING) - FIRST
    first = next((word for word in words if "lead" not in known.get(word, ())), "")
    if any("imperative" in known.get(word, ()) for word in (first, *words[:1])):
        found.add("imperative")
    signs = {"?": plain.endswith("?"), "!": "!" in text}
    return found and found | {sign for sign, there in signs.items() if there}


@cache
def _known_cues() -> Mapping[str, frozenset[str]]:
    """Return the cues of each word or phrase of all languages."""
    found = defaultdict[str, set[str]](set)
    for code in languages_with("signals"):
        data = load(code, "signals")
        for cue, phrases in data.get("cues", {}).items():
            for phrase in fold(phrases.format_map(data["lists"])).split():
                found[phrase.replace("_", " ")].add(cue)
    return {phrase: frozenset(cues) for phrase, cues in found.items()}
