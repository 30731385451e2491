"""Update precedence: is what is true now found above what was true before?

On the questions that come with the evaluation data (BEAM 100K: the ids of the outdated and of
the current messages in a long chat), on pairs found in the same chats by hand, and on own talk
about many things (``benchmarks.retrieval_cases``), where it is also counted how often a text
that brings nothing up to date is overtaken all the same.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import show
from benchmarks.retrieval import ARMS, retriever
from benchmarks.retrieval_cases import UPDATES, Case
from benchmarks.retrieval_contrasts import CONTRASTS, LISTS, PAST, TALK
from memoranda import Memory, Settings
from memoranda.model.models import Hit, Scope
from memoranda.model.query import Filter
from memoranda.search.search import Ranking

ALL = 1_000
START = datetime(2024, 1, 1, 9, tzinfo=UTC)  # of the own talk
# Nothing happens by itself, so that each figure is of what it says it is.
QUIET = Settings(
    timezone="UTC", embedding={"background": False}, consolidation={"automatic": False}
)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
PLAN_MARK = re.compile(r"\s*->->[^\n]*\s*$")
UNMOVED = Ranking(without=frozenset({"precedence"}))
RANKINGS: Mapping[str, Ranking] = {
    "lexical alone (BM25)": Ranking("rrf", without=ARMS - {"lexical"}),
    "vector alone": Ranking("rrf", without=ARMS - {"vector"}),
    "default without precedence": UNMOVED,
    "default": Ranking(),
}
FURTHER = (
    # (chat, question, outdated, current): found by looking for values that change.
    ("1", "When does my first sprint end?", (28,), (52,)),
    ("1", "How fast does the dashboard API respond?", (104,), (108, 114)),
    ("1", "How high is the response time of the dashboard API?", (104,), (108, 114)),
)
Search = Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Chat:
    """A memory of a chat, with the message that each record is."""

    memory: Memory
    messages: Mapping[str, int]

    def ranks(self, ranking: Ranking, case: Update) -> tuple[int, int]:
        """Return the rank of the best current and of the best outdated message."""
        found = [self._said(hit) for hit in searching(self.memory, ranking)(case.question)]
        return _rank(found, case.current), _rank(found, case.outdated)

    def _said(self, hit: Hit) -> set[int]:
        """Return the messages that a hit is, or was drawn from."""
        ids = (hit.record.id, *hit.record.source_ids)
        return {self.messages[each] for each in ids if each in self.messages}


@dataclass(frozen=True, slots=True)
class Update:
    """A question about a chat, and the messages that answered it before, and now."""

    chat: str
    question: str
    outdated: tuple[int, ...]
    current: tuple[int, ...]


def run(data: Path, *, quick: bool) -> None:
    """Print the tables; ``data`` is the folder of the evaluation data."""
    _own()
    cases = data / "conflicts" / "beam_updates_dev.jsonl"
    if not cases.is_file():
        print(f"\nUpdates in BEAM: left out, {cases} is not there (see docs/benchmarks.md).\n")
        return
    given = [_update(json.loads(line)) for line in cases.read_text("utf-8").splitlines()]
    chats = sorted({case.chat for case in given})
    with tempfile.TemporaryDirectory() as folder:
        held = {chat: _chat(data, chat, Path(folder) / f"{chat}.db") for chat in chats}
        try:
            _beam(held, given, "")
            if not quick:
                _consolidated(held, given)
        finally:
            for chat in held.values():
                chat.memory.close()


def _beam(held: Mapping[str, Chat], given: Sequence[Update], note: str) -> None:
    further = [Update(*case) for case in FURTHER if case[0] in held]
    rows = [
        (name, *(_share(held, ranking, cases) for cases in (given, further)))
        for name, ranking in RANKINGS.items()
    ]
    header = ("ranking", f"given ({len(given)})", f"further ({len(further)})")
    show(f"Update precedence, BEAM 100K{note}", header, rows)
    compared = [RANKINGS[name] for name in ("lexical alone (BM25)", "default")]
    ranks = [
        (case.question, *(_text(held[case.chat].ranks(ranking, case)) for ranking in compared))
        for case in (*given, *further)
    ]
    title = f"Ranks of the current and the outdated message{note}"
    show(title, ("question", "lexical", "default"), ranks)


def _consolidated(held: Mapping[str, Chat], given: Sequence[Update]) -> None:
    for chat in held.values():
        chat.memory.consolidate()
        chat.memory.embed_pending()
    _beam(held, given, ", with facts")


def _share(held: Mapping[str, Chat], ranking: Ranking, cases: Sequence[Update]) -> str:
    ranks = [held[case.chat].ranks(ranking, case) for case in cases]
    return f"{sum(current < outdated for current, outdated in ranks) / max(len(cases), 1):.2f}"


def _rank(found: Sequence[set[int]], wanted: Iterable[int]) -> int:
    ids = set(wanted)
    return next((rank for rank, held in enumerate(found, 1) if held & ids), ALL)


def _text(ranks: tuple[int, int]) -> str:
    current, outdated = ("none" if rank == ALL else str(rank) for rank in ranks)
    return f"current {current}, outdated {outdated}"


def _update(given: Mapping[str, Any]) -> Update:
    return Update(
        given["chat"], given["question"], tuple(given["outdated"]), tuple(given["current"])
    )


def searching(memory: Memory, ranking: Ranking) -> Search:
    """Return a search of everything in ``memory`` under ``ranking``."""
    found = retriever(memory, ranking)
    scope, now = Scope(memory.user), memory._services.clock.now()  # noqa: SLF001 - as in retriever
    return lambda question: found.search(scope, question, Filter(now=now), limit=ALL)


def _chat(data: Path, chat: str, path: Path) -> Chat:
    """Return a memory that holds the messages of a chat, one minute apart within a session."""
    folder = data / "beam" / "100K" / chat
    source = next(
        file for name in ("chat_trunecated.json", "chat.json") if (file := folder / name).is_file()
    )
    items: list[dict[str, Any]] = []
    ids: list[int] = []
    at = LONG_AGO
    for number, session in enumerate(json.loads(source.read_text("utf-8"))):
        for message in (message for turn in session["turns"] for message in turn):
            anchor = message.get("time_anchor")
            named = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) if anchor else at
            at = max(named, at + timedelta(minutes=1))
            items.append(
                {
                    "content": PLAN_MARK.sub("", message["content"]).strip() or "(empty)",
                    "kind": "episode",
                    "session": str(number),
                    "role": message["role"],
                    "event_time": at,
                }
            )
            ids.append(message["id"])
    memory = Memory(path, settings=QUIET)
    records = memory.remember_many(items)
    memory.embed_pending()
    return Chat(memory, {record.id: told for record, told in zip(records, ids, strict=True)})


def _own() -> None:
    with talk() as memory:
        rows = []
        for name, ranking in RANKINGS.items():
            search = searching(memory, ranking)
            rows.append(
                (
                    name,
                    f"{_later(search, UPDATES) / len(UPDATES):.2f}",
                    f"{1 - _later(search, CONTRASTS) / len(CONTRASTS):.2f}",
                    f"{sum(not _newer_first(search, case) for case in PAST)} of {len(PAST)}",
                    f"{sum(_together(search, *asked) for asked in LISTS)} of {len(LISTS)}",
                )
            )
    header = (
        "ranking",
        f"updates ({len(UPDATES)}): the later first",
        f"contrasts ({len(CONTRASTS)}): the right one first",
        "what was: the earlier first",
        "lists: all on top",
    )
    show("Update precedence, own talk", header, rows)


def talk() -> Memory:
    """Return a memory of what ``retrieval_cases`` has, in the order in which it was said."""
    cases = (*UPDATES, *CONTRASTS)
    firsts = [case.earlier for case in cases]
    listed = [text for _, texts in LISTS for text in texts]
    said = dict.fromkeys([*firsts, *listed, *(case.later for case in cases)])
    texts: list[str] = []
    between = iter(TALK)
    for place, text in enumerate(said):
        texts.append(text)
        if place % 4 == 0:
            texts += [other for other in (next(between, None),) if other is not None]
    memory = Memory(":memory:", settings=QUIET)
    memory.remember_many(
        [
            {
                "content": text,
                "kind": "episode",
                "session": str(place // 12),
                "role": "user",
                "event_time": START + timedelta(hours=7 * place),
            }
            for place, text in enumerate(texts)
        ]
    )
    memory.embed_pending()
    return memory


def _places(search: Search, question: str) -> dict[str, int]:
    return {hit.record.content: rank for rank, hit in enumerate(search(question), 1)}


def _later(search: Search, cases: Sequence[Case]) -> int:
    """Return in how many cases the later text is above the earlier."""
    return sum(_newer_first(search, case) for case in cases)


def _newer_first(search: Search, case: Case) -> bool:
    places = _places(search, case.question)
    return places.get(case.later, ALL) < places.get(case.earlier, ALL)


def _together(search: Search, question: str, texts: Sequence[str]) -> bool:
    places = _places(search, question)
    return max(places.get(text, ALL) for text in texts) == len(texts)
