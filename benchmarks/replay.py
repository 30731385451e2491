"""Real tool-calling runs, replayed message by message under small budgets.

Each run is a talk between a customer and an agent of an airline that looks things up and
changes bookings (tau-bench). Before each message of the agent, the context it would have
been given is built. Reported is how often that context holds what the agent's next call
needs: every id, number and code among the arguments of the call which had been said before.

A conversation is coherent if all of its contexts are: each holds the last request and all that
the next call needs (N2.2, SM1). A message was pruned if any context was without it. It is needed
later if a call names something of it while it is out of the context; it is missed if that stands
nowhere else in the context either (SM3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from memoranda import Conversation
from memoranda.conversation.markers import REFERENCE
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
        conversations: how many were replayed.
        coherent: of how many all contexts were coherent.
        cut: of how many some message was left out.
        cut_coherent: of how many of these all contexts were coherent.
        pruned: how many messages some context was without.
        needed: how many of these hold something that a call named while they were out.
        missed_without: how many of these hold something that the context then told nowhere but in
            the particulars of its markers, if at all.
        missed: how many of these hold something that the context then told nowhere.
        unreachable: how many of these no marker of that context could be expanded to.
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
    conversations: int = 0
    coherent: int = 0
    cut: int = 0
    cut_coherent: int = 0
    pruned: int = 0
    needed: int = 0
    missed_without: int = 0
    missed: int = 0
    unreachable: int = 0

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


class Replay:
    """One run under one budget, and what is seen of it.

    Args:
        run: the messages of the run, with the system prompt first.
        strategy: how messages are chosen.
        budget: of each context, in tokens.
        arguments: further ones of the conversation.
    """

    def __init__(self, run: Run, strategy: str, budget: int, **arguments: Any) -> None:
        """Start before the first message."""
        self._run, self._budget = run, budget
        self._chat = conversation(run[0]["content"], budget, strategy=strategy, **arguments)
        self._tally = Tally(conversations=1)
        # Positions of messages that were out of a context; and of these the ones that were needed.
        self._out, self._needed = set[int](), set[int]()
        self._missed_without, self._missed, self._unreachable = set[int](), set[int](), set[int]()

    def tally(self) -> Tally:
        """Replay the run; return what was seen."""
        tally = self._tally
        for message, context in contexts(self._run, self._chat):
            if context is None:
                tally.impossible += 1
                continue
            self._judge(message, context)
        tally.prunings = len(self._chat.prunings)
        torn = tally.calls - tally.ready + tally.contexts - tally.requests + tally.impossible
        tally.coherent, tally.cut = int(not torn), int(bool(self._out))
        tally.cut_coherent = tally.coherent * tally.cut
        tally.pruned, tally.needed = len(self._out), len(self._needed)
        tally.missed_without, tally.missed = len(self._missed_without), len(self._missed)
        tally.unreachable = len(self._unreachable)
        return tally

    def _judge(self, message: Mapping[str, Any], context: Context) -> None:
        tally, chat, said = self._tally, self._chat, self._chat.messages
        tally.contexts += 1
        tally.over += context.tokens > self._budget
        request = next((item for item in reversed(said) if item.role == "user"), None)
        shown = [text_of(item) for item in context.messages[1:]]
        tally.requests += request is None or any(request.content in text for text in shown)
        told = {found[0] for text in shown for found in REFERENCE.finditer(text)}
        visible = "\n".join(shown)
        hidden = "\n".join(item.content for marker in told for item in chat.expand(marker))
        codes = needed_codes(message, "\n".join(item.content for item in said))
        missing = {code for code in codes if code not in visible}
        tally.calls += bool(codes)
        tally.ready += bool(codes) and not missing
        tally.codes += len(codes)
        tally.shown += len(codes) - len(missing)
        tally.marked += sum(code in hidden for code in missing)
        markers = {marker.text for marker in context.receipt.markers}
        bare = "\n".join(text for text in shown if text not in markers)
        spans = [range(item.first, item.last + 1) for item in context.receipt.markers]
        for item in (each for each in said if any(each.position in span for span in spans)):
            place, named = item.position or 0, {code for code in codes if code in item.content}
            self._out.add(place)
            self._needed.update({place} if named else ())
            self._missed_without.update({place} if any(code not in bare for code in named) else ())
            self._missed.update({place} if named & missing else ())
            lost = any(code not in hidden for code in named & missing)
            self._unreachable.update({place} if lost else ())


def text_of(item: Mapping[str, Any]) -> str:
    """Return what a message of a context says, with its calls."""
    calls = item.get("tool_calls")
    return f"{item.get('content') or ''}\n{json.dumps(calls) if calls else ''}".rstrip("\n")


def needed_codes(message: Mapping[str, Any], said: str) -> set[str]:
    """Return the ids, numbers and codes that a message's calls name and that were ``said``."""
    arguments = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return {code for text in arguments for code in CODE.findall(text) if code in said}


def replayed(run: Run, strategy: str, budget: int, **arguments: Any) -> Tally:
    """Return the tally of one run."""
    return Replay(run, strategy, budget, **arguments).tally()


def run(shared: Path, *, quick: bool) -> None:
    """Print the table."""
    found = runs(shared)[: 20 if quick else None]
    if not found:
        print(f"\n{shared / RUNS} is not there: no runs to replay\n")
        return
    tallies = {}
    for budget in BUDGETS:
        for strategy in STRATEGIES:
            tallies[budget, strategy] = tally = Tally()
            for each in found:
                tally.add(replayed(each, strategy, budget))
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
        [_context_row(*key, tally) for key, tally in tallies.items()],
        "Codes: what the arguments of the next call hold of ids, numbers and codes said before.",
    )
    show(
        "The same by conversation (N2.2, SM1) and by pruned message (SM3)",
        (
            "budget",
            "strategy",
            "coherent",
            "were pruned",
            "of these coherent",
            "pruned messages",
            "a later call names something of them",
            "and it is not elsewhere in view",
            "nor in the markers",
            "nor one expansion away",
        ),
        [_conversation_row(*key, tally) for key, tally in tallies.items()],
        "Coherent: each context has the last request and all codes that the next call names.",
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _context_row(budget: int, strategy: str, tally: Tally) -> tuple[str, ...]:
    return (
        f"{budget:,}",
        strategy,
        f"{tally.contexts:,}",
        f"{tally.over}",
        _share(tally.requests, tally.contexts),
        _share(tally.shown, tally.codes),
        _share(tally.shown + tally.marked, tally.codes),
        _share(tally.ready, tally.calls),
    )


def _conversation_row(budget: int, strategy: str, tally: Tally) -> tuple[str, ...]:
    return (
        f"{budget:,}",
        strategy,
        _share(tally.coherent, tally.conversations),
        f"{tally.cut}",
        _share(tally.cut_coherent, tally.cut),
        f"{tally.pruned:,}",
        _share(tally.needed, tally.pruned),
        _share(tally.missed_without, tally.pruned),
        _share(tally.missed, tally.pruned),
        _share(tally.unreachable, tally.pruned),
    )
