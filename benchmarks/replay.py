"""Real tool-calling runs, replayed message by message under small budgets.

Each run is a talk between a customer and an agent of an airline that looks things up and
changes bookings (tau-bench). Before each message of the agent, the context it would have
been given is built. Reported is how often that context holds what the agent's next call
needs: every id, number and code among the arguments of the call which had been said before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda import Conversation
from memoranda.conversation.ledger import REFERENCE
from memoranda.conversation.strategies import STRATEGIES
from memoranda.errors import BudgetTooSmall
from memoranda.model.models import Context

RUNS = Path("data", "tau_bench", "airline_80.json")
BUDGETS = (2_000, 4_000, 8_000, 16_000)
CODE = re.compile(r"(?=\w*\d)\w{4,}|[A-Z0-9]{6}")
WINDOW = 0.8  # the share of the context window that is the budget
Run = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Tally:
    """What was seen over many contexts.

    Attributes:
        contexts: how many were built.
        over: how many exceeded the budget.
        impossible: how many could not be built, as the system prompt alone does not fit.
        requests: in how many the last request was.
        calls: before how many calls something said before was needed.
        ready: before how many of these all of it was in the context.
        codes: how many ids, numbers and codes were needed.
        shown: how many of these were in the context.
        marked: how many of the others were one expansion away: under a marker, or in the whole
            of a result that was shortened.
        prunings: how many prunings were written down.
    """

    contexts: int = 0
    over: int = 0
    impossible: int = 0
    requests: int = 0
    calls: int = 0
    ready: int = 0
    codes: int = 0
    shown: int = 0
    marked: int = 0
    prunings: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count what another tally counted."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def runs(shared: Path) -> list[Run]:
    """Return the runs; none, if the data is not there."""
    path = shared / RUNS
    return [item["traj"] for item in json.loads(path.read_text("utf-8"))] if path.exists() else []


def conversation(system: str, budget: int, **arguments: Any) -> Conversation:
    """Return a conversation whose contexts take ``budget`` tokens, if nothing else is said."""
    return Conversation(system=system, context_limit=int(budget / WINDOW), **arguments)


def contexts(run: Run, chat: Conversation) -> Iterator[tuple[Mapping[str, Any], Context | None]]:
    """Yield each message of the agent with the context before it; ``None`` if none fits."""
    for message in run[1:]:
        if message["role"] == "assistant":
            try:
                yield message, chat.context()
            except BudgetTooSmall:
                yield message, None
        chat.extend([message])


def replayed(run: Run, strategy: str, budget: int, **arguments: Any) -> Tally:
    """Return the tally of one run."""
    chat = conversation(run[0]["content"], budget, strategy=strategy, **arguments)
    tally = Tally()
    for message, context in contexts(run, chat):
        if context is None:
            tally.impossible += 1
            continue
        tally.contexts += 1
        tally.over += context.tokens > budget
        said = chat.messages
        request = next((item for item in reversed(said) if item.role == "user"), None)
        shown = [str(item.get("content") or "") for item in context.messages[1:]]
        told = {found[0] for text in shown for found in REFERENCE.finditer(text)}
        hidden = [item.content for marker in told for item in chat.expand(marker)]
        calls = [json.dumps(item.get("tool_calls")) for item in context.messages[1:]]
        tally.requests += request is None or request.content in shown
        _needs(tally, message, [item.content for item in said], [*shown, *calls], hidden)
    tally.prunings = len(chat.prunings)
    return tally


def _needs(
    tally: Tally,
    message: Mapping[str, Any],
    said: Sequence[str],
    shown: Sequence[str],
    hidden: Sequence[str],
) -> None:
    arguments = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    before, visible, marked = ("\n".join(texts) for texts in (said, shown, hidden))
    codes = {code for text in arguments for code in CODE.findall(text) if code in before}
    missing = {code for code in codes if code not in visible}
    tally.calls += bool(codes)
    tally.ready += bool(codes) and not missing
    tally.codes += len(codes)
    tally.shown += len(codes) - len(missing)
    tally.marked += sum(code in marked for code in missing)


def run(shared: Path, *, quick: bool) -> None:
    """Print the table."""
    found = runs(shared)[: 20 if quick else None]
    if not found:
        print(f"\n{shared / RUNS} is not there: no runs to replay\n")
        return
    rows = []
    for budget in BUDGETS:
        for strategy in STRATEGIES:
            tally = Tally()
            for each in found:
                tally.add(replayed(each, strategy, budget))
            rows.append(_row(budget, strategy, tally))
    show(
        f"{len(found)} tool-calling runs, replayed (tau-bench, airline)",
        (
            "budget",
            "strategy",
            "contexts",
            "over budget",
            "last request in",
            "codes in view",
            "in view or one expansion",
            "calls with all they need",
        ),
        rows,
        "Codes: what the arguments of the next call hold of ids, numbers and codes said before.",
    )


def _row(budget: int, strategy: str, tally: Tally) -> tuple[str, ...]:
    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:.1f} %" if whole else "-"

    return (
        f"{budget:,}",
        strategy,
        f"{tally.contexts:,}",
        f"{tally.over}",
        share(tally.requests, tally.contexts),
        share(tally.shown, tally.codes),
        share(tally.shown + tally.marked, tally.codes),
        share(tally.ready, tally.calls),
    )
