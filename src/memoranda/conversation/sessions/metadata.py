"""The first line of a session file: what is true of the conversation as a whole.

Of seed 002 are ``_type``, ``key``, ``createdAt`` and ``lastConsolidated``; ours stand beside them,
only where they say something. Keys that are unknown here are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memoranda.conversation.sessions.values import Keys, iso
from memoranda.errors import InvalidInput
from memoranda.model.models import NO_ATTRIBUTES, Calibration, ConversationInfo, Cut, Pruning

TYPE = "metadata"
NEUTRAL = Calibration()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What the first line says. Positions count every message ever said, from 0.

    Attributes:
        id: the name of the conversation (``key``).
        created_at: when it was first opened (``createdAt``); no rewriting changes it.
        system: the system prompt.
        model: the model whose tokens count.
        context_limit: the model's context window, in tokens.
        ended_at: when it was ended.
        first: position of the first message that is still in the file (``firstPosition``).
        cleared: messages before this position are out of every view (``clearedBefore``).
        consolidated: messages before this position are in long-term memory; the file has it
            as a number of lines (``lastConsolidated``).
        calibration: what the provider's own counts taught (``tokenScale``, ``tokenOverhead``).
        prunings: the receipts of all prunings, oldest first.
        revision: grows with every change of what was there.
        edition: grows with every change of a line that was there.
        line: the line as it was read, for the keys that are unknown here.
    """

    id: str
    created_at: datetime
    system: str | None = None
    model: str | None = None
    context_limit: int | None = None
    ended_at: datetime | None = None
    first: int = 0
    cleared: int = 0
    consolidated: int = 0
    calibration: Calibration = NEUTRAL
    prunings: tuple[Pruning, ...] = ()
    revision: int = 0
    edition: int = 0
    line: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRIBUTES)

    @classmethod
    def of(cls, info: ConversationInfo) -> Metadata:
        """Return the metadata of a conversation without messages."""
        return cls(
            id=info.id,
            created_at=info.created_at,
            system=info.system,
            model=info.model,
            context_limit=info.context_limit,
            ended_at=info.ended_at,
            calibration=info.calibration,
        )

    @property
    def start(self) -> int:
        """The position of the first message in view."""
        return max(self.first, self.cleared)


def is_metadata(value: object) -> bool:
    """Whether a value is the first line of a session file."""
    return isinstance(value, Mapping) and value.get("_type") == TYPE


def metadata_value(item: Metadata) -> dict[str, Any]:
    """Return metadata as the JSON object of the first line."""
    scale, overhead = item.calibration.scale, item.calibration.overhead
    known: dict[str, Any] = {
        "_type": TYPE,
        "key": item.id,
        # As it stood there, also where another program wrote it in another way.
        "createdAt": item.line.get("createdAt") or iso(item.created_at),
        "lastConsolidated": max(0, item.consolidated - item.first),
        "system": item.system,
        "model": item.model,
        "contextLimit": item.context_limit,
        "endedAt": None if item.ended_at is None else iso(item.ended_at),
        "firstPosition": item.first or None,
        "clearedBefore": item.cleared or None,
        "tokenScale": None if scale == NEUTRAL.scale else scale,
        "tokenOverhead": None if overhead == NEUTRAL.overhead else overhead,
        "prunings": [_pruning_value(pruning) for pruning in item.prunings] or None,
        "revision": item.revision or None,
        "edition": item.edition or None,
    }
    others = {name: value for name, value in item.line.items() if name not in known}
    return {name: value for name, value in known.items() if value is not None} | others


def parse_metadata(value: object, name: str) -> Metadata:
    """Return what the first line holds.

    Args:
        value: the JSON value of the line.
        name: of the conversation, if the line does not say.

    Raises:
        InvalidInput: it is no metadata; what is wrong is named.
    """
    if not is_metadata(value):
        message = (
            f"expected metadata such as "
            f'{{"_type":"{TYPE}","createdAt":"2026-02-27T14:30:00.000Z"}}, found {value!r:.80}'
        )
        raise InvalidInput(message)
    line = Keys(value)
    first = line.whole("firstPosition")
    return Metadata(
        id=line.optional_text("key") or name,
        created_at=line.moment("createdAt"),
        system=line.optional_text("system"),
        model=line.optional_text("model"),
        context_limit=line.whole("contextLimit") or None,
        ended_at=line.optional_moment("endedAt"),
        first=first,
        cleared=line.whole("clearedBefore"),
        consolidated=first + line.whole("lastConsolidated"),
        calibration=Calibration(
            line.number("tokenScale", NEUTRAL.scale) or NEUTRAL.scale,
            line.whole("tokenOverhead", NEUTRAL.overhead),
        ),
        prunings=tuple(_pruning(item) for item in line.objects("prunings")),
        revision=line.whole("revision"),
        edition=line.whole("edition"),
        line=dict(value) if isinstance(value, Mapping) else NO_ATTRIBUTES,
    )


def _pruning_value(item: Pruning) -> dict[str, Any]:
    return {
        "id": item.id,
        "at": iso(item.at),
        "trigger": item.trigger,
        "why": item.why,
        "strategy": item.strategy,
        "before": item.before,
        "after": item.after,
        "cuts": [_cut_value(cut) for cut in item.cuts],
    }


def _cut_value(cut: Cut) -> dict[str, Any]:
    value: dict[str, Any] = {
        "first": cut.first,
        "last": cut.last,
        "messages": cut.messages,
        "tokens": cut.tokens,
        "since": iso(cut.since),
        "until": iso(cut.until),
        "why": cut.why,
    }
    told = {"score": cut.score, "summary": cut.summary or None}
    return value | {name: item for name, item in told.items() if item is not None}


def _pruning(item: Keys) -> Pruning:
    return Pruning(
        id=item.text("id"),
        at=item.moment("at"),
        trigger=item.text("trigger"),
        why=item.text("why"),
        strategy=item.text("strategy"),
        before=item.whole("before"),
        after=item.whole("after"),
        cuts=tuple(_cut(cut) for cut in item.objects("cuts")),
    )


def _cut(cut: Keys) -> Cut:
    first, last, messages = (cut.whole(name) for name in ("first", "last", "messages"))
    if not 1 <= messages <= last - first + 1:
        message = f"a cut from {first} to {last} cannot hold {messages} messages"
        raise InvalidInput(message)
    return Cut(
        first=first,
        last=last,
        messages=messages,
        tokens=cut.whole("tokens"),
        since=cut.moment("since"),
        until=cut.moment("until"),
        why=cut.text("why"),
        score=cut.share("score"),
        summary=cut.optional_text("summary"),
    )
