"""The stages of learning that ask a language model: claims of turns, and an insight.

Prompts are files, and texts stand as data inside of them. Each answer is checked against what
the model was shown, and what does not hold is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from typing import Any

from memoranda.errors import UnusableAnswer
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.llm.claim_checking import (
    ClaimAnswer,
    ClaimChecker,
    known_terms,
    particulars,
    repeats,
    telling_terms,
    why_unfit,
)
from memoranda.model.models import Record
from memoranda.model.ports import LanguageModel
from memoranda.text.calendar import in_zone
from memoranda.text.lines import shorten
from memoranda.text.sentences import sentence_texts

# Halvings of a page whose answer is cut off: a model that always is costs 15 calls at most.
MOST_SPLITS = 3
# Characters of an insight: it goes into prompts.
LONGEST_INSIGHT = 1_200
# Characters of one memory that an insight is drawn from: there may be 200.
LONGEST_MEMORY = 400
# Characters of one text in a prompt; of a longer one, its beginning and its end.
LONGEST_TEXT = 6_000
# What could close a tag, or look like the next line.
ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>\x85\u2028\u2029"}


@cache
def instructions(name: str) -> str:
    """Return the prompt ``prompts/{name}.md``: what a model is told to do."""
    place = files("memoranda.learning").joinpath("prompts", f"{name}.md")
    return place.read_text("utf-8").strip()


def fenced(tag: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return ``rows`` as JSON, one a line, between ``<tag>`` and ``</tag>``.

    No value can end its line or close the tag: quotes, line ends and angle brackets are escaped.
    """
    lines = [json.dumps(row, ensure_ascii=False).translate(ESCAPES) for row in rows]
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def moment(at: datetime) -> str:
    """Return a moment as prompts show it: ``2023-06-02 Friday 14:05``."""
    return f"{at:%Y-%m-%d %A %H:%M}"


@dataclass(frozen=True, slots=True)
class ClaimsAnswer:
    """The durable statements of a conversation, in order; an empty list is an answer, too."""

    claims: list[ClaimAnswer]


async def extract_claims(
    model: LanguageModel,
    page: Sequence[Turn],
    *,
    before: Sequence[Turn] = (),
    kept: Sequence[Claim] = (),
    owner: str = "",
    splits: int = MOST_SPLITS,
) -> list[Claim]:
    """Return the claims of ``page``, drawn by a model, in the order they were said.

    :mod:`memoranda.learning.llm.claim_checking` says which are kept. An answer that was cut off by
    its length is not used: each half of the page is asked for by itself. Where nothing of an answer
    holds, the model does not understand what it is asked, and would not with fewer turns.

    Args:
        model: what draws them.
        page: the turns to read, at most 30.
        before: turns said before them, to understand them by; no claim rests on these alone.
        kept: what rules kept of the page because a person asked for it. It is shown to the model,
            and what says the same is left out.
        owner: the name of the user.
        splits: how often a page may be halved; then the whole claims of an answer count.

    Raises:
        UnusableAnswer: the model claims something, and nothing of it holds.
        LLMError: the model failed; ``error.usage`` says what was spent.
    """
    if not any(turn.person and turn.text.strip() for turn in page):
        return []
    checker = ClaimChecker(page, before, owner)
    context = [_turn_row(f"b{number}", turn) for number, turn in enumerate(before, 1)]
    rows = [_turn_row(label, turn) for label, turn in checker.labels.items()]
    known = [fenced("kept", [{"text": each.content} for each in kept])] if kept else []
    prompt = "\n".join([fenced("before", context), *known, fenced("turns", rows)])
    reply = await model.ask(instructions("extract"), prompt, ClaimsAnswer)
    claims = checker.check_all(reply.value.claims)
    if not claims and (reply.value.claims or not reply.complete):
        raise UnusableAnswer(f"nothing that {model.name} claims was said")
    if reply.complete or len(page) == 1 or not splits:
        return [each for each in claims if not any(repeats(each, known) for known in kept)]
    half, claims = len(page) // 2, []
    how: dict[str, Any] = {"kept": kept, "owner": owner, "splits": splits - 1}
    for turns, earlier in (page[:half], before), (page[half:], [*before, *page[:half]]):
        claims += await extract_claims(model, turns, before=earlier, **how)
    return claims


def _turn_row(label: str, turn: Turn) -> dict[str, object]:
    return {
        "id": label,
        "speaker": turn.speaker,
        "person": turn.person,
        "at": moment(turn.at),
        "text": shorten(turn.text, LONGEST_TEXT),
    }


@dataclass(frozen=True, slots=True)
class ReflectionAnswer:
    """An insight as a model gives it; see ``prompts/reflect.md`` for each field."""

    insight: str


async def write_insight(
    model: LanguageModel, records: Sequence[Record], zone: tzinfo
) -> str | None:
    """Return in a few sentences what recent facts and episodes come to, in a model's words.

    ``None`` where nothing of it holds. Left out are sentences with numbers or names that no record
    has, orders, fences and secrets, and what does not fit.

    Args:
        model: what reflects.
        records: recent facts and episodes.
        zone: the user's time zone, in which days are told.

    Raises:
        LLMError: the model failed; ``error.usage`` says what was spent.
    """
    if not records:
        return None
    shown = fenced("memories", [_memory_row(each, zone) for each in records])
    reply = await model.ask(instructions("reflect"), shown, ReflectionAnswer)
    # Its days and numbers may be anyone's it was shown.
    known = known_terms(shown)
    insight = ""
    for sentence in sentence_texts(reply.value.insight.strip()):
        line = " ".join(sentence.split())
        longer = f"{insight} {line}".strip()
        if len(longer) > LONGEST_INSIGHT:
            break
        founded = telling_terms(line) & known and particulars(line) <= known
        if founded and why_unfit(line) is None:
            insight = longer
    return insight or None


def _memory_row(record: Record, zone: tzinfo) -> dict[str, object]:
    return {
        "kind": record.kind,
        "at": moment(in_zone(record.event_time, zone)),
        "speaker": record.source_role,
        "text": shorten(record.content, LONGEST_MEMORY),
    }
