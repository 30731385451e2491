"""Precision and recall of the rules that tell what a newer statement does to an older one.

Run: ``python -m benchmarks.conflicts [--data FOLDER] [--show]``. The data is looked for in
``../shared/data`` beside the repository; without it there is nothing to measure.

The pairs are whole user messages of long technical chats (BEAM), labelled by a question that
both answer: an update, a contradiction, or none. The message that came first is the older one.
Several labels name a message of the same exchange that does not state the fact (``thanks, that
makes sense``), which no judge of two texts can know, so recall has a ceiling below 1.

How often the rules see a conflict where there is most likely none is measured on the messages
of one speaker and their nearest neighbours, which nobody labelled: some of these are conflicts.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda.errors import MemorandaError
from memoranda.learning.claims import Relation, Statement
from memoranda.learning.conflicts import RuleJudge
from memoranda.model.ports import Embedder

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PAIRS = Path("conflicts", "beam_conflicts_dev.jsonl")
TALKS = Path("locomo", "locomo10.json")
START = datetime(2024, 1, 1, tzinfo=UTC)
CLASSES = (Relation.CONTRADICTION, Relation.UPDATE, Relation.NONE)
NEIGHBOURS = 8


def run(data: Path, *, quick: bool, details: bool = False) -> None:
    """Print the tables, or why there are none."""
    path = data / PAIRS
    if not path.exists():
        print(f"\nConflicts: left out, {path} is not there\n")
        return
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    embedder = _embedder()
    counts = {"rules": confusion(pairs, None, details=details)}
    if embedder is not None:
        counts["rules and vectors"] = confusion(pairs, embedder)
    rows = [row for name, found in counts.items() for row in scores(name, found)]
    show(
        f"{len(pairs)} pairs of messages (BEAM, development)",
        ("", "class", "precision", "recall", "F1", "pairs"),
        rows,
        "Before all counts the precision of what retires a fact: update and contradiction "
        "against none (the row `either`).",
    )
    if not quick and embedder is not None and (data / TALKS).exists():
        _neighbours(data / TALKS, embedder)


def confusion(
    pairs: Sequence[Mapping[str, Any]], embedder: Embedder | None, *, details: bool = False
) -> Counter[tuple[str, str]]:
    """Return how often (label, verdict) occur."""
    judge, found = RuleJudge(), Counter[tuple[str, str]]()
    for number, pair in enumerate(pairs):
        texts = [pair["a"], pair["b"]]
        if pair["a_id"] > pair["b_id"]:
            texts.reverse()
        likeness = None
        if embedder is not None:
            vectors = embedder.embed(texts)
            likeness = float(vectors[0] @ vectors[1])
        old, new = Statement(texts[0], START), Statement(texts[1], START + timedelta(1))
        verdict = judge.judge(old, Statement(new.text, new.at, likeness=likeness))
        found[pair["label"], str(verdict.relation)] += 1
        if details and verdict.relation != pair["label"]:
            print(f"{number}: {pair['label']}, not {verdict.relation}: {verdict.why}")
    return found


def scores(name: str, found: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each class, for both that retire a fact, and for the mean."""
    f1s = []
    groups = [(str(each), {str(each)}) for each in CLASSES]
    for label, wanted in [*groups, ("either", {"update", "contradiction"})]:
        right = sum(n for (gold, ours), n in found.items() if gold in wanted and ours in wanted)
        ours = sum(n for (_, verdict), n in found.items() if verdict in wanted)
        gold = sum(n for (truth, _), n in found.items() if truth in wanted)
        precision, recall = right / max(ours, 1), right / max(gold, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        if len(wanted) == 1:
            f1s.append(f1)
        yield name, label, f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}", str(gold)
    yield name, "macro", "", "", f"{sum(f1s) / len(f1s):.3f}", ""


def _embedder() -> Embedder | None:
    try:
        from memoranda.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - extra `local`

        embedder = MiniLM()
        embedder.embed(["ready"])
    except MemorandaError as error:
        print(f"\nConflicts: without vectors, {error}\n")
        return None
    return embedder


def _neighbours(path: Path, embedder: Embedder) -> None:
    """Print how often the nearest turns of one speaker are judged to exclude each other."""
    judge, found = RuleJudge(), Counter[str]()
    for texts in _speakers(path):
        vectors = embedder.embed(texts)
        likeness = vectors @ vectors.T
        pairs = {
            (min(row, int(other)), max(row, int(other)))
            for row in range(len(texts))
            for other in (-likeness[row]).argsort()[: NEIGHBOURS + 1]
            if row != other
        }
        for first, second in pairs:
            old = Statement(texts[first], START)
            near = float(likeness[first, second])
            new = Statement(texts[second], START + timedelta(1), likeness=near)
            found[str(judge.judge(old, new).relation)] += 1
    total = sum(found.values())
    show(
        f"Turns of one speaker and their {NEIGHBOURS} nearest (LoCoMo, unlabelled)",
        ("verdict", "pairs", "share"),
        [(name, str(count), f"{count / total:.4f}") for name, count in found.most_common()],
        f"{total} pairs.",
    )


def _speakers(path: Path) -> Iterator[list[str]]:
    """Yield the turns of each speaker of each talk, in order."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        talk = sample["conversation"]
        sessions = [talk[f"session_{n}"] for n in range(1, 100) if f"session_{n}" in talk]
        for speaker in (talk["speaker_a"], talk["speaker_b"]):
            yield [
                turn["text"]
                for session in sessions
                for turn in session
                if turn["speaker"] == speaker
            ]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--show", action="store_true", help="name the pairs that were wrong")
    options = parser.parse_args()
    run(options.data, quick=False, details=options.show)


if __name__ == "__main__":
    main()
