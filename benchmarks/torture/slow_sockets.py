"""Clients without a token that send half a header and wait: others are answered all the same."""

from __future__ import annotations

from statistics import median

from benchmarks.serving import SLOW, answer_times, listening, our_server
from benchmarks.torture.figures import Figure, Task

GOAL_MS = 200
ROUNDS = 300


def run(task: Task) -> list[Figure]:
    """Return how long others wait for their answers meanwhile."""
    with listening(our_server(task.folder)) as url:
        found = answer_times(url, ROUNDS, slow=SLOW)
    return [
        Figure(
            f"{SLOW} slow sockets",
            f"others answered in < {GOAL_MS} ms",
            f"{len(found)} answers, {median(found):.1f} ms in the middle, {found[-1]:.1f} at worst",
            reached=found[-1] < GOAL_MS,
        )
    ]
