"""How much of a context the task at hand needs: the replays, judged by labels (SM2, SM5).

A reader went through 30 points of the tool-calling runs, and labelled each message said before
that which the task then did not need. docs/benchmarks.md states the rule. Counted are the tokens
of these in the context that a model would be sent there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import show
from benchmarks.replay import BUDGETS, Run, contexts, conversation
from memoranda.model.models import Context, Message

LABELS = Path(__file__).parents[1] / "tests" / "evaluation" / "relevance_labels.json"


@dataclass(frozen=True, slots=True)
class Relevance:
    """The tokens of contexts by what they are for.

    Attributes:
        system: of the system prompts, which hold the rules of every task.
        relevant: of messages that the task needs.
        irrelevant: of messages that it does not.
        markers: of what stands for messages that are left out.
    """

    system: int = 0
    relevant: int = 0
    irrelevant: int = 0
    markers: int = 0

    def __add__(self, other: Relevance) -> Relevance:
        """Return both together."""
        return Relevance(
            self.system + other.system,
            self.relevant + other.relevant,
            self.irrelevant + other.irrelevant,
            self.markers + other.markers,
        )

    @property
    def needed(self) -> float:
        """The share of the messages' tokens that the task needs."""
        return self.relevant / (self.relevant + self.irrelevant)

    @property
    def wasted(self) -> float:
        """The share of all tokens that are of messages the task does not need."""
        whole = self.system + self.relevant + self.irrelevant + self.markers
        return self.irrelevant / whole


def relevance(runs: Sequence[Run], strategy: str, budget: int) -> Relevance:
    """Return what the labelled contexts hold under a budget."""
    found = Relevance()
    for label in json.loads(LABELS.read_text("utf-8"))["contexts"]:
        run = runs[label["run"]]
        chat = conversation(run[0]["content"], budget, strategy=strategy)
        for message, context in contexts(run, chat):
            if message is run[label["before"]] and context is not None:
                found += _judged(context, chat.messages, set(label["irrelevant"]))
                break
    return found


def _judged(context: Context, said: Sequence[Message], irrelevant: set[int]) -> Relevance:
    places = {message.id: message.position for message in said}
    system = relevant = wasted = markers = 0
    for line in context.receipt.included:
        if line.id in places and places[line.id] in irrelevant:
            wasted += line.tokens
        elif line.id in places:
            relevant += line.tokens
        elif line.what == "marker":
            markers += line.tokens
        elif line.what == "system prompt":
            system += line.tokens
    return Relevance(system, relevant, wasted, markers)


def run(runs: Sequence[Run], strategies: Sequence[str]) -> None:
    """Print the table, if there are runs."""
    rows = []
    for budget in BUDGETS[:-1] if runs else ():
        for strategy in strategies:
            found = relevance(runs, strategy, budget)
            rows.append(
                (
                    f"{budget:,}",
                    strategy,
                    f"{found.relevant + found.irrelevant:,}",
                    f"{100 * found.needed:.1f} %",
                    f"{100 - 100 * found.wasted:.1f} %",
                    f"{100 * found.wasted:.1f} %",
                )
            )
    if not rows:
        return
    show(
        "What the task at hand needs of 30 labelled contexts (SM2, SM5)",
        (
            "budget",
            "strategy",
            "tokens of messages",
            "needed",
            "of all tokens",
            "not needed, of all tokens",
        ),
        rows,
        "The system prompt and markers are part of all tokens, and count as needed.",
    )
