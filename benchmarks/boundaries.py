"""Where one topic ends and the next begins, against people who marked it (TIAGE).

Run: ``python -m benchmarks.boundaries [--data FOLDER] [--quick] [--strong] [--fit]``. The data
is looked for in ``../shared/data`` beside the repository. Every other dialogue, from the first,
was tuned on; figures of the others are those to quote.

Pk (Beeferman, Berger and Lafferty 1999): two turns that are k apart are drawn; the share of the
pairs of which reference and hypothesis disagree whether they are of one topic. WindowDiff
(Pevzner and Hearst 2002): the share of the windows of k turns in which they disagree how many
boundaries there are. Both are a dialogue's mean, and less is better. k is half the mean length
of the dialogue's reference segments, but at least 2: at 1 they only compare turn by turn. F1 is
that of boundaries at exactly the right turn, of all dialogues together.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import micro, show
from memoranda.conversation.segments import (
    BIAS,
    GAP,
    Cohesion,
    Segmenter,
    TopicTurn,
    topic_weights,
)
from memoranda.model.models import Message, ToolCall, ToolResult

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TIAGE = Path("dialseg") / "tiage_train_dev.json"
RUNS = Path("tau_bench") / "airline_80.json"
START = datetime(2026, 1, 1, tzinfo=UTC)
SMALLEST_K = 2
RIDGE = 3.0  # of the logistic model, on standardized evidence
STEPS = 12  # of Newton's method; it stands still after six
QUICK = 40  # dialogues


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue of TIAGE.

    Attributes:
        messages: its turns.
        starts: indexes of the turns that begin a topic, but for the first.
    """

    messages: list[Message]
    starts: frozenset[int]


@dataclass(frozen=True, slots=True)
class Scores:
    """What came out, over all dialogues."""

    pk: float
    window_diff: float
    f1: float
    precision: float
    recall: float


def load(path: Path) -> list[Dialogue]:
    """Read the dialogues. The two speakers become user and assistant; times are invented."""
    found = []
    for item in json.loads(path.read_text("utf-8")):
        messages = [
            Message(
                id=f"msg_{place:03}",
                role="assistant" if place % 2 else "user",
                content=text,
                timestamp=START + timedelta(minutes=place),
                tokens=0,
            )
            for place, text in enumerate(item["utterances"])
        ]
        found.append(Dialogue(messages, frozenset(np.cumsum(item["segments"])[:-1].tolist())))
    return found


def window(starts: Iterable[int], length: int) -> int:
    """Return k for a reference: half the mean length of its segments, rounded, at least 2."""
    return max(SMALLEST_K, int(length / (2 * (len(set(starts)) + 1)) + 0.5))


def pk(reference: Iterable[int], found: Iterable[int], length: int, k: int) -> float:
    """Return Pk of boundaries before the turns ``found``; 0 where no two turns are k apart."""
    return _disagree(reference, found, length, k, lambda one, other: (one > 0) != (other > 0))


def window_diff(reference: Iterable[int], found: Iterable[int], length: int, k: int) -> float:
    """Return WindowDiff of boundaries before the turns ``found``."""
    return _disagree(reference, found, length, k, lambda one, other: one != other)


def _disagree(
    reference: Iterable[int],
    found: Iterable[int],
    length: int,
    k: int,
    differ: Callable[[int, int], bool],
) -> float:
    one, other = set(reference), set(found)
    windows = [set(range(first + 1, first + k + 1)) for first in range(length - k)]
    wrong = [differ(len(one & each), len(other & each)) for each in windows]
    return sum(wrong) / len(wrong) if wrong else 0.0


def evaluate(dialogues: Sequence[Dialogue], found: Sequence[Iterable[int]]) -> Scores:
    """Compare boundaries with those of the dialogues."""
    errors, right, ours, theirs = [], 0, 0, 0
    for dialogue, each in zip(dialogues, found, strict=True):
        starts, length = set(each), len(dialogue.messages)
        k = window(dialogue.starts, length)
        errors.append([metric(dialogue.starts, starts, length, k) for metric in (pk, window_diff)])
        right += len(starts & dialogue.starts)
        ours += len(starts)
        theirs += len(dialogue.starts)
    disagreement, difference = np.mean(errors, axis=0)
    return Scores(
        pk=float(disagreement),
        window_diff=float(difference),
        f1=2 * right / max(1, ours + theirs),
        precision=right / max(1, ours),
        recall=right / max(1, theirs),
    )


def detect(dialogue: Dialogue) -> list[int]:
    """Return where our topics begin, but for the first, whoever opens them."""
    cohesion, found = Cohesion(), []
    for place, message in enumerate(dialogue.messages):
        turn = TopicTurn.of(message.content, message.timestamp)
        new = cohesion.shifts(turn)
        cohesion.take(turn, new=new)
        if new:
            found.append(place)
    return found


def run(data: Path = DATA, *, quick: bool) -> None:
    """Print a table for each half, or why there is none."""
    if not (data / TIAGE).is_file():
        print(f"\nBoundaries: left out, {data / TIAGE} is not there.\n")
        return
    dialogues = load(data / TIAGE)[: QUICK if quick else None]
    for first, title in ((1, "held out"), (0, "tuned on")):
        show(
            f"Topics of TIAGE, the half {title}",
            ("", "Pk", "WindowDiff", "F1", "precision", "recall"),
            _rows(dialogues[first::2]),
        )
    print(f"Live: {micro(_cost(dialogues))} a message.")


def _rows(dialogues: Sequence[Dialogue]) -> Iterator[tuple[str, ...]]:
    yield _row("no boundaries", dialogues, [[] for _ in dialogues])
    every = [range(1, len(each.messages)) for each in dialogues]
    yield _row("a boundary before every turn", dialogues, every)
    yield _row("lexical, live", dialogues, [detect(each) for each in dialogues])


def _row(
    name: str, dialogues: Sequence[Dialogue], found: Sequence[Iterable[int]]
) -> tuple[str, ...]:
    got = evaluate(dialogues, found)
    figures = (got.pk, got.window_diff, got.f1, got.precision, got.recall)
    return (name, *[f"{figure:.3f}" for figure in figures])


def _cost(dialogues: Sequence[Dialogue]) -> float:
    """Return the seconds that a message takes when it is added."""
    taken = []
    for dialogue in dialogues:
        segmenter = Segmenter()
        began = time.perf_counter()
        for message in dialogue.messages:
            segmenter.add(message)
        taken.append((time.perf_counter() - began) / len(dialogue.messages))
    return float(np.median(taken))


def fit(data: Path = DATA) -> None:
    """Print the weights, fitted on the half to tune on."""
    for each, weight in fitted(load(data / TIAGE)[::2]).items():
        print(f"{each} = {weight:.2f}")


def fitted(dialogues: Sequence[Dialogue]) -> dict[str, float]:
    """Return weights that explain the marked topics, given those of the turns before."""
    names = [each for each in topic_weights() if each not in {BIAS, GAP}]
    rows, labels = _evidence(dialogues, names)
    return dict(zip([BIAS, *names], map(float, logistic(rows, labels)), strict=True))


def _evidence(dialogues: Sequence[Dialogue], names: Sequence[str]) -> tuple[Any, Any]:
    rows, labels = [], []
    for dialogue in dialogues:
        cohesion = Cohesion()
        for place, message in enumerate(dialogue.messages):
            turn = TopicTurn.of(message.content, message.timestamp)
            if place:
                found = cohesion.evidence(turn)
                rows.append([found[name] for name in names])
                labels.append(place in dialogue.starts)
            cohesion.take(turn, new=place in dialogue.starts)
    return np.array(rows), np.array(labels, float)


def logistic(rows: Any, labels: Any) -> Any:
    """Return bias and weights of a logistic model with a ridge, by Newton's method.

    Args:
        rows: evidence, shape (turns, pieces).
        labels: 1 where a topic begins, shape (turns,).
    """
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    inputs = np.column_stack([np.ones(len(rows)), (rows - mean) / spread])
    ridge = np.diag([0.0] + [RIDGE] * rows.shape[1])
    weights = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (labels - expected) - ridge @ weights
        curve = (inputs.T * (expected * (1 - expected))) @ inputs + ridge
        weights += np.linalg.solve(curve, slope)
    weights[1:] /= spread
    weights[0] -= weights[1:] @ mean
    return weights


def runs(path: Path) -> list[list[Message]]:
    """Read the tool-calling runs of tau-bench."""
    return [
        [_message(place, raw) for place, raw in enumerate(item["traj"])]
        for item in json.loads(path.read_text("utf-8"))
    ]


def _message(place: int, raw: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in raw.get("tool_calls") or ()
    )
    return Message(
        id=f"msg_{place:03}",
        role=raw["role"],
        content=raw.get("content") or "",
        timestamp=START + timedelta(minutes=place),
        tokens=0,
        tool_calls=calls,
        tool_result=ToolResult(raw["tool_call_id"]) if raw["role"] == "tool" else None,
    )


def strong(data: Path = DATA) -> None:
    """Print every strong boundary of the real runs with what stands around it, to be judged."""
    transcripts = runs(data / RUNS)
    found = weak = 0
    for number, messages in enumerate(transcripts):
        segmenter = Segmenter()
        for place, asked in enumerate(messages):
            boundary = segmenter.add(asked)
            if boundary is None:
                continue
            if not boundary.strong:
                weak += 1
                continue
            found += 1
            print(f"\nrun {number}, message {place}: {boundary.why}")
            for message in messages[max(0, place - 2) : place + 1]:
                print(f"    {message.role}: {message.content[-200:]!r}")
    users = sum(message.role == "user" for messages in transcripts for message in messages)
    print(f"\n{found} strong and {weak} weak boundaries at {users} messages of users.")


def main() -> None:
    """Measure, list the strong boundaries or fit the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} dialogues")
    parser.add_argument("--strong", action="store_true", help="list those of the tau-bench runs")
    parser.add_argument("--fit", action="store_true", help="print the weights")
    asked = parser.parse_args()
    if asked.fit:
        fit(asked.data)
    if asked.strong:
        strong(asked.data)
    if not (asked.fit or asked.strong):
        run(asked.data, quick=asked.quick)


if __name__ == "__main__":
    main()
