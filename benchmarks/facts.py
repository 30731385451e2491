"""What the rules draw from talk: how much of what is asked for later, and how little junk.

Run: ``python -m benchmarks.facts [--data FOLDER] [--sample FILE] [--seed N]``.
The data is looked for in ``../shared/data`` beside the repository.

LoCoMo: share of the questions (categories 1 to 4, evidence as corrected by the audit) with one,
and with all, of their evidence turns among the sources of a fact; facts for every 100 turns.
BEAM: facts for every message of a user; whether the values that questions of knowledge updates
ask for stand in a fact drawn from the message that tells them. Junk is for a person to judge:
``--sample`` writes a seeded random sample of facts with the turns they come from.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import show
from memoranda.learning.claims import Claim, Turn
from memoranda.learning.extractor import RuleFactExtractor

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LOCOMO = Path("locomo") / "locomo10.json"
AUDIT = Path("locomo") / "audit_dev.json"
BEAM = Path("beam") / "100K"
UPDATES = Path("conflicts") / "beam_updates_dev.jsonl"
PAGE = 30
ADVERSARIAL = 5
PUBLISHED_ORDER = {"conv-26": 0, "conv-30": 1, "conv-41": 2}
_TURN_ID = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: its sessions; the evidence of its questions, as ids of turns; the answers."""

    sessions: list[list[Turn]]
    evidence: list[frozenset[str]]
    answers: list[str]


def extractor() -> RuleFactExtractor:
    """Return the extractor as the product builds it."""
    return RuleFactExtractor()


def load_locomo(data: Path) -> list[Talk]:
    """Read the conversations, with the evidence that the audit corrected."""
    audit = {
        each["question_id"]: each["correct_evidence"]
        for each in json.loads((data / AUDIT).read_text("utf-8"))
    }
    return [
        _talk(item, audit, PUBLISHED_ORDER.get(item["sample_id"], place))
        for place, item in enumerate(json.loads((data / LOCOMO).read_text("utf-8")))
    ]


def _talk(item: dict[str, Any], audit: dict[str, Any], number: int) -> Talk:
    spoken = item["conversation"]
    sessions = []
    for session in range(1, 100):
        turns = spoken.get(f"session_{session}")
        if turns:
            at = datetime.strptime(
                spoken[f"session_{session}_date_time"], "%I:%M %p on %d %B, %Y"
            ).replace(tzinfo=UTC)
            sessions.append(
                [
                    Turn(each["dia_id"], each["speaker"], each["text"], at, person=True)
                    for each in turns
                ]
            )
    evidence, answers = [], []
    for place, question in enumerate(item["qa"]):
        if question["category"] != ADVERSARIAL:
            told = audit.get(f"locomo_{number}_qa{place}", question["evidence"])
            found = frozenset(_TURN_ID.findall(" ".join(map(str, told))))
            if found:
                evidence.append(found)
                answers.append(str(question["answer"]))
    return Talk(sessions, evidence, answers)


def draw(rules: RuleFactExtractor, session: Sequence[Turn]) -> list[Claim]:
    """Return the claims of a session, read page by page."""
    claims = []
    for start in range(0, len(session), PAGE):
        before = session[max(0, start - PAGE) : start]
        claims += rules.read(session[start : start + PAGE], before=before).claims
    return claims


def coverage(talks: Sequence[Talk]) -> tuple[float, float, float, list[Any]]:
    """Return shares of questions with any and with all evidence, facts a 100 turns, facts."""
    rules = extractor()
    any_of = all_of = asked = turns = 0
    facts = []
    for talk in talks:
        claims = [(claim, session) for session in talk.sessions for claim in draw(rules, session)]
        sources = {claim.sources[0] for claim, _ in claims}
        any_of += sum(bool(each & sources) for each in talk.evidence)
        all_of += sum(each <= sources for each in talk.evidence)
        asked += len(talk.evidence)
        turns += sum(map(len, talk.sessions))
        facts += claims
    return any_of / asked, all_of / asked, 100 * len(facts) / turns, facts


def load_beam(data: Path) -> Iterator[tuple[str, list[Turn]]]:
    """Yield the name and the turns of each chat."""
    for folder in sorted((data / BEAM).iterdir()):
        path = folder / "chat_trunecated.json"
        if not path.exists():
            path = folder / "chat.json"
        found: list[Turn] = []
        at = datetime(2024, 3, 1, 9, tzinfo=UTC)
        for batch in json.loads(path.read_text("utf-8")):
            for turns in batch["turns"]:
                for each in turns:
                    at = _anchored(each, at) + timedelta(minutes=1)
                    role = each["role"]
                    found.append(
                        Turn(str(each["id"]), role, each["content"], at, person=role == "user")
                    )
        yield folder.name, found


def _anchored(message: dict[str, Any], at: datetime) -> datetime:
    anchor = message.get("time_anchor")
    try:
        return datetime.strptime(anchor, "%B-%d-%Y").replace(hour=9, tzinfo=UTC) if anchor else at
    except ValueError:
        return at


def _numbers(text: str) -> set[str]:
    return {each.replace(",", "") for each in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def updates(data: Path, chats: dict[str, list[Claim]]) -> Iterator[tuple[str, ...]]:
    """Yield for each update whether its value, and the old one, stand in a fact."""
    for line in (data / UPDATES).read_text("utf-8").splitlines():
        case = json.loads(line)
        claims = chats[case["chat"]]
        wanted = _numbers(case["answer"])
        row = []
        for which, values in (
            ("current", wanted),
            ("outdated", _numbers(case["old_hint"]) - wanted),
        ):
            ids = set(map(str, case[which]))
            drawn = [claim for claim in claims if claim.sources[0] in ids]
            told = any(values & _numbers(claim.content) for claim in drawn)
            row.append("yes" if told else "no" if values else "-")
        yield (f"{case['chat']} {case['q']}: {case['answer'][:50]}", *row)


def write_sample(
    path: Path, facts: Sequence[tuple[Claim, Sequence[Turn]]], size: int, seed: int
) -> None:
    """Write ``size`` of ``facts``, drawn with ``seed``, with their source turns."""
    lines = []
    drawn = np.random.default_rng(seed).permutation(len(facts))[:size]
    for number, place in enumerate(drawn, 1):
        claim, session = facts[place]
        source = next(turn for turn in session if turn.id == claim.sources[0])
        lines += [
            f"{number}. [{claim.category} {claim.confidence}] {claim.content}",
            f"     about {claim.subject}, {claim.event_time:%Y-%m-%d}; said {source.at:%Y-%m-%d}",
            f"     {source.id} {source.speaker}: {' '.join(source.text.split())[:600]}",
            "",
        ]
    path.write_text("\n".join(lines), "utf-8")


def run(data: Path = DATA, *, sample: Path | None = None, seed: int = 1) -> None:
    """Print the tables; write samples to ``sample`` and beside it."""
    if not (data / LOCOMO).is_file():
        print(f"\nFacts: left out, {data / LOCOMO} is not there.\n")
        return
    talks = load_locomo(data)
    began = time.process_time()
    some, every, density, facts = coverage(talks)
    pages = sum(-(-len(session) // PAGE) for talk in talks for session in talk.sessions)
    taken = 1000 * (time.process_time() - began) / pages
    show(
        "Facts of LoCoMo, by rules",
        ("any evidence", "all evidence", "facts per 100 turns"),
        [(f"{some:.3f}", f"{every:.3f}", f"{density:.1f}")],
    )
    print(f"{taken:.1f} ms of CPU a page of up to {PAGE} turns.")
    chats = _run_beam(data)
    if sample is not None:
        write_sample(sample, facts, 50, seed)
        write_sample(sample.with_name(f"beam_{sample.name}"), chats, 30, seed)
        print(f"Samples to judge: {sample}, {sample.with_name(f'beam_{sample.name}')}")


def _run_beam(data: Path) -> list[tuple[Claim, Sequence[Turn]]]:
    rules, every, by_chat, messages = extractor(), [], {}, 0
    for name, turns in load_beam(data):
        by_chat[name] = draw(rules, turns)
        messages += sum(turn.person for turn in turns)
        every += [(claim, turns) for claim in by_chat[name]]
    print(f"\nBEAM: {len(every) / messages:.2f} facts a user message ({messages} messages).")
    show(
        "Values of BEAM's knowledge updates in a fact of their message",
        ("update", "current", "outdated"),
        list(updates(data, by_chat)),
    )
    return every


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.facts", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data")
    parser.add_argument("--sample", type=Path, help="write facts to judge to this file")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    asked = parser.parse_args()
    run(asked.data, sample=asked.sample, seed=asked.seed)


if __name__ == "__main__":
    main()
