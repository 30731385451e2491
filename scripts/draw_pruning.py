"""Draw what each strategy keeps of a real run: ``python scripts/draw_pruning.py RUNS OUT.svg``.

RUNS is a file of tool-calling runs (tau-bench: a list of objects with ``traj``). The longest
run is drawn, one row a strategy: a box a message, as wide as it has tokens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoranda import Conversation
from memoranda.model.models import Message

STRATEGIES = ("rolling_window", "recency", "importance", "hybrid")
BUDGET = 4_000
COLOURS = {"user": "#2f6fbb", "assistant": "#3d9970", "tool": "#c98a1b", "system": "#7a5fa8"}
OUT = "#d9dde3"
WIDTH, LEFT, ROW, BOX, TOP = 960, 130, 46, 24, 84
GAP = 1.0


def main() -> None:
    """Read the runs, replay the longest, write the picture."""
    source, target = map(Path, sys.argv[1:3])
    runs = [item["traj"] for item in json.loads(source.read_text("utf-8"))]
    run = max(runs, key=lambda traj: len(json.dumps(traj)))
    target.write_text("\n".join(drawn(run)) + "\n", "utf-8")


def drawn(run: Sequence[dict[str, object]]) -> Iterator[str]:
    """Yield the lines of the picture."""
    height = TOP + ROW * len(STRATEGIES) + 20
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="13" role="img">'
    )
    yield f"<title>What each strategy keeps of {len(run) - 1} messages</title>"
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    yield from _legend()
    for number, strategy in enumerate(STRATEGIES):
        chat = Conversation(
            system=str(run[0]["content"]), strategy=strategy, context_limit=10**6, max_messages=500
        )
        chat.extend(run[1:])
        yield from _row(chat, strategy, TOP + number * ROW)
    yield "</svg>"


def _legend() -> Iterator[str]:
    yield (
        f'<text x="{LEFT}" y="24" font-weight="600">One box a message, as wide as it has '
        f"tokens; the newest at the right. Views of {BUDGET:,} tokens.</text>"
    )
    x = LEFT
    for name, colour in (*COLOURS.items(), ("out of view, under a marker", OUT)):
        if name == "system":
            continue
        yield f'<rect x="{x}" y="40" width="14" height="14" rx="2" fill="{colour}"/>'
        yield f'<text x="{x + 20}" y="52">{name}</text>'
        x += 30 + 8 * len(name)
    yield f'<rect x="{x}" y="40" width="14" height="14" rx="2" fill="url(#cut)"/>'
    yield f'<text x="{x + 20}" y="52">shortened</text>'
    yield (
        '<defs><pattern id="cut" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="6" height="6" fill="#c98a1b"/>'
        '<rect width="3" height="6" fill="#f3d9a4"/></pattern></defs>'
    )


def _row(chat: Conversation, strategy: str, y: int) -> Iterator[str]:
    view = chat.view(BUDGET)
    shown = {message.id for message in view.messages}
    short = dict(view.shortened)
    messages = chat.messages
    scale = (WIDTH - LEFT - 20 - GAP * len(messages)) / sum(item.tokens for item in messages)
    yield f'<text x="{LEFT - 12}" y="{y + 17}" text-anchor="end">{strategy}</text>'
    x = float(LEFT)
    for message in messages:
        width = max(1.0, message.tokens * scale)
        fill = _fill(message, shown=message.id in shown, short=message.id in short)
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BOX}" rx="1" fill="{fill}">'
            f"<title>#{message.position} {message.role}, {message.tokens} tokens</title></rect>"
        )
        x += width + GAP


def _fill(message: Message, *, shown: bool, short: bool) -> str:
    if not shown:
        return OUT
    return "url(#cut)" if short else COLOURS[message.role]


if __name__ == "__main__":
    main()
