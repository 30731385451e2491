"""How much of what is asked for later the entries of the history hold, as rules write them.

Each session of LoCoMo, and each span of 20 messages of a BEAM chat, becomes an entry. Of the key
words of an answer, the share is counted that stands in the entries of the spans with its evidence;
beside it, what the beginning of the talk would give, and all of it. A word counts by its stem,
and a day by its year, month and number, however it is written: an entry says which day
"yesterday" was, the talk does not, so an entry can hold more than the talk.
"""

from __future__ import annotations

import calendar
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import facts
from benchmarks.measure import show
from memoranda.facts.values import stems
from memoranda.learning.claims import Turn
from memoranda.notes.history_entries import write_entry
from memoranda.text.terms import stop_words

STOP_WORDS = stop_words("en")

SPAN = 20
"""Messages of a BEAM chat that one entry tells."""
BEGINNING = 1_500
"""Characters of the talk's beginning: as many as an entry may have."""
TEXTS = (
    "entries by rules",
    f"the first {BEGINNING:,} characters",
    "its beginning, as long as the entry",
    "the whole talk",
)
ANSWERS = ("answer", "ideal_answer", "ideal_summary")
"""What BEAM calls an answer that says something; that of an abstention does not."""
_ISO = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])(?:-(\d\d))?\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """Spans of talks, and answers to questions about them, each with the places of its spans."""

    spans: list[Sequence[Turn]]
    answers: list[tuple[frozenset[str], frozenset[int]]]


def run(data: Path, *, quick: bool) -> None:
    """Print a row for each set; ``quick`` reads one conversation and one chat."""
    most = 1 if quick else None
    rows, taken = [], []
    for name, path, load in (
        ("LoCoMo, sessions", data / facts.LOCOMO, load_locomo),
        (f"BEAM, spans of {SPAN}", data / facts.BEAM, load_beam),
    ):
        if not path.exists():
            print(f"\nHistory entries, {name}: left out, {path} is not there.\n")
            continue
        asked = load(data, most)
        began = time.process_time()
        entries = written(asked.spans)
        seconds = (time.process_time() - began) / len(entries)
        counts = str(len(asked.answers)), str(len(entries))
        rows.append((name, *counts, *(f"{share:.3f}" for share in shares(asked, entries))))
        length = sum(map(len, entries)) / len(entries)
        whole = sum(len(_told(span)) for span in asked.spans) / len(entries)
        taken.append((name, f"{length:,.0f}", f"{whole:,.0f}", f"{1e3 * seconds:,.0f} ms"))
    if rows:
        only = "; one conversation, one chat" if quick else ""
        show(
            f"notes: key words of the answer in the history (development{only})",
            ("", "answers", "entries", *TEXTS),
            rows,
        )
        show(
            "notes: entries of the history by rules",
            ("", "characters of an entry", "of its talk", "CPU an entry"),
            taken,
        )


def load_locomo(data: Path, most: int | None) -> Asked:
    """Read the sessions, and the answers with the evidence that the audit corrected."""
    asked = Asked([], [])
    for talk in facts.load_locomo(data)[:most]:
        _ask(asked, talk.sessions, zip(talk.answers, talk.evidence, strict=True))
    return asked


def load_beam(data: Path, most: int | None) -> Asked:
    """Read the chats in spans, and the answers to their probing questions."""
    asked = Asked([], [])
    for name, turns in [*facts.load_beam(data)][:most]:
        spans = [turns[start : start + SPAN] for start in range(0, len(turns), SPAN)]
        path = data / facts.BEAM / name / "probing_questions.json"
        _ask(asked, spans, _beam_answers(json.loads(path.read_text("utf-8"))))
    return asked


def _beam_answers(probing: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, frozenset[str]]]:
    for question in (each for group in probing.values() for each in group):
        answer = next((question[key] for key in ANSWERS if key in question), None)
        if answer is not None:
            yield str(answer), frozenset(_ids(question.get("source_chat_ids", ())))


def _ids(found: object) -> Iterator[str]:
    """Yield the ids of messages, which stand in lists, or in lists by what they are for."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list | tuple):
        for each in found:
            yield from _ids(each)
    else:
        yield str(found)


def _ask(
    asked: Asked, spans: Sequence[Sequence[Turn]], answers: Iterator[tuple[str, frozenset[str]]]
) -> None:
    """Add the spans of a talk, and the answers that have key words and evidence in it."""
    first = len(asked.spans)
    where = {turn.id: place for place, span in enumerate(spans, first) for turn in span}
    asked.spans.extend(spans)
    for answer, evidence in answers:
        keys = key_words(answer)
        places = frozenset(where[id_] for id_ in evidence if id_ in where)
        if keys and places:
            asked.answers.append((keys, places))


def written(spans: Sequence[Sequence[Turn]]) -> list[str]:
    """Return the entry of each span, written when it ended."""
    return [write_entry(span) for span in spans]


def shares(asked: Asked, entries: Sequence[str]) -> list[float]:
    """Return the mean share of key words found, for each of ``TEXTS``."""
    told = [_told(span) for span in asked.spans]
    arms = (
        entries,
        [text[:BEGINNING] for text in told],
        [text[: len(entry)] for text, entry in zip(told, entries, strict=True)],
        told,
    )
    return [_share(asked, [key_words(text) for text in texts]) for texts in arms]


def _share(asked: Asked, held: Sequence[frozenset[str]]) -> float:
    found = [
        len(keys & frozenset().union(*(held[place] for place in places))) / len(keys)
        for keys, places in asked.answers
    ]
    return float(np.mean(found))


def key_words(text: str) -> frozenset[str]:
    """Return the stems and numbers of a text without function words; of an ISO day, its parts."""
    plain = _ISO.sub(
        lambda day: f"{day[1]} {calendar.month_name[int(day[2])]} {int(day[3] or 0)}", text
    )
    return frozenset(stems([word.lower() for word in re.findall(r"\w+", plain)])) - STOP_WORDS


def _told(span: Sequence[Turn]) -> str:
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in span)
