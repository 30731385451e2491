"""LoCoMo, REALTALK and BEAM as they are published: turns, questions, and which turns answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.kit.adapter import Turn

DATES = (
    "%I:%M %p on %d %B, %Y",  # LoCoMo
    "%B-%d-%Y",  # BEAM
    "%Y/%m/%d (%a) %H:%M",  # LongMemEval
    "%d.%m.%Y, %H:%M:%S",  # REALTALK
)
CORE = frozenset(
    {
        "contradiction_resolution",
        "information_extraction",
        "knowledge_update",
        "multi_session_reasoning",
        "temporal_reasoning",
    }
)
"""The categories of BEAM whose questions a few messages answer."""
PLACES = re.compile(r"D:?(\d+):(\d+)(?:\s*-\s*D:?\1:(\d+))?")
PLAN = re.compile(r"\s*->->[^\n]*\s*$")
EMPTY = "(empty)"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the turns that answer it."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One conversation, which nothing else is searched with."""

    name: str
    turns: list[Turn]
    questions: list[Question]


def read_date(text: object) -> datetime | None:
    """Return the time that a data set writes; None, if it is none of theirs."""
    if not isinstance(text, str):
        return None
    cleaned = re.sub(r"\s+", " ", text).strip()
    for form in DATES:
        try:
            return datetime.strptime(cleaned, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def read_locomo(path: Path) -> Iterator[Corpus]:
    """Read ``locomo10.json``: ten conversations of two people, each turn a document."""
    for sample in json.loads(path.read_text("utf-8")):
        yield _talk(sample["sample_id"], sample["conversation"], sample["qa"], "text")


def read_realtalk(path: Path) -> Iterator[Corpus]:
    """Read the folder of ``Chat_*.json``: ten chats of two people, each message a document."""
    for file in sorted(path.glob("Chat_*.json")):
        chat = json.loads(file.read_text("utf-8"))
        yield _talk(file.stem, chat, chat["qa"], "clean_text")


def _talk(name: str, talk: Mapping[str, Any], asked: Iterable[Any], words: str) -> Corpus:
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    turns = [
        Turn(
            id=each["dia_id"],
            text=_line(each, words),
            session=str(number),
            speaker=each["speaker"],
            time=read_date(each.get("date_time") or talk.get(f"session_{number}_date_time")),
        )
        for number in numbers
        for each in talk[f"session_{number}"]
    ]
    known = {turn.id for turn in turns}
    questions = (Question(each["question"], _cited(each, known)) for each in asked)
    return Corpus(name, turns, [each for each in questions if each.evidence])


def _line(turn: Mapping[str, Any], words: str) -> str:
    """Return a turn as LoCoMo's own retrieval has it, with what its picture shows."""
    line = f'{turn["speaker"]} said, "{turn.get(words) or ""}"'
    shown = turn.get("blip_caption")
    return f"{line} and shared {shown}" if shown else line


def _cited(question: Mapping[str, Any], known: set[str]) -> frozenset[str]:
    """Return the turns that answer; citations such as ``D8:6; D9:17`` and ``D30:05`` are mended."""
    found = PLACES.findall("; ".join(map(str, question.get("evidence") or ())))
    ids = {
        f"D{int(session)}:{turn}"
        for session, first, last in found
        for turn in range(int(first), int(last or first) + 1)
    }
    return frozenset(ids & known)


def read_beam(path: Path) -> Iterator[Corpus]:
    """Read a folder of chats with an assistant, such as ``chats/100K``; a round is a document.

    A round is a message of the user with the answers up to the next one.
    """
    for folder in sorted((each.parent for each in path.glob("*/chat.json")), key=_number):
        cut = folder / "chat_trunecated.json"  # spelt so
        chat = json.loads((cut if cut.exists() else folder / "chat.json").read_text("utf-8"))
        turns, round_of = _rounds(chat)
        (asked,) = folder.rglob("probing_questions.json")
        given = json.loads(asked.read_text("utf-8"))
        yield Corpus(
            folder.name,
            turns,
            [
                Question(each["question"], frozenset(ids))
                for category in sorted(CORE & given.keys())
                for each in given[category]
                if (
                    ids := {
                        round_of[id_]
                        for id_ in _flat(each.get("source_chat_ids")) & round_of.keys()
                    }
                )
            ],
        )


def _number(folder: Path) -> int:
    return int(folder.name)


def _rounds(chat: Iterable[Any]) -> tuple[list[Turn], dict[int, str]]:
    rounds: dict[str, list[str]] = {}
    about: dict[str, tuple[str, datetime | None]] = {}
    round_of: dict[int, str] = {}
    for batch, part in enumerate(chat):
        time = None  # stands on the first message of a sitting alone
        for message in (each for turn in part["turns"] for each in turn):
            time = read_date(message.get("time_anchor")) or time
            if message["role"] == "user" or not rounds:
                rounds[str(message["id"])] = []
                about[str(message["id"])] = (str(batch), time)
            current = next(reversed(rounds))
            rounds[current].append(PLAN.sub("", message["content"]).strip())
            round_of[message["id"]] = current
    turns = [
        Turn(
            id=id_, text="\n".join(texts).strip() or EMPTY, session=session, role="user", time=time
        )
        for (id_, texts), (session, time) in zip(rounds.items(), about.values(), strict=True)
    ]
    return turns, round_of


def _flat(ids: object) -> set[int]:
    """Return all ids in lists and tables of them."""
    if isinstance(ids, Mapping):
        ids = list(ids.values())
    if isinstance(ids, list):
        return {found for each in ids for found in _flat(each)}
    return set() if ids is None else {ids}


READERS = {"locomo": read_locomo, "realtalk": read_realtalk, "beam": read_beam}
