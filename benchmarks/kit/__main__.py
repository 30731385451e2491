"""Measure memories: ``python -m benchmarks.kit --adapter NAME --locomo FILE --laws``."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.kit.adapter import Adapter, Embed
from benchmarks.kit.datasets import READERS
from benchmarks.kit.evaluate import METRICS, evaluate
from benchmarks.kit.laws import BROKEN, KEPT, LAWS, NOT_OFFERED, check

ADAPTERS = {
    "memoranda": "memoranda:Memoranda",
    "fts5": "fts5:Floor",
    "chroma": "chroma:Chroma",
    "langchain": "langchain:LangChain",
    "langgraph": "langgraph:LangGraph",
    "llamaindex": "llamaindex:LlamaIndex",
    "mem0": "mem0:Mem0",
    "adk-memory": "adk:InMemory",
    "adk-sqlite": "adk:Sqlite",
    "adk-memoranda": "adk:Memoranda",
}
EMBEDDER = "benchmarks.kit.embedder:embed"


def load(name: str) -> Any:
    """Return what ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def load_adapter(name: str) -> type[Adapter]:
    """Return the adapter of a name of ours, or of ``module:Class``."""
    known = ADAPTERS.get(name)
    if known is None and ":" not in name:
        sys.exit(
            f"no adapter is called {name!r}: give module:Class, or one of {', '.join(ADAPTERS)}"
        )
    adapter: type[Adapter] = load(f"{__package__}.adapters.{known}" if known else name)
    return adapter


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table, row by row as they come."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was asked for, of each memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kit", description=__doc__)
    known = f"{', '.join(ADAPTERS)}, or module:Class; may be repeated"
    parser.add_argument("--adapter", action="append", required=True, help=known)
    parser.add_argument("--locomo", type=Path, help="locomo10.json")
    parser.add_argument("--realtalk", type=Path, help="folder of Chat_*.json")
    parser.add_argument("--beam", type=Path, help="folder of chats, such as chats/100K")
    parser.add_argument("--laws", action="store_true", help="check the laws")
    parser.add_argument("--embedder", default=EMBEDDER, help="module:function")
    asked = parser.parse_args(arguments)
    memories = {name: load_adapter(name) for name in asked.adapter}
    embed: Embed = load(asked.embedder)
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.platform()}, "
        f"{os.cpu_count()} cores, embedder {asked.embedder}"
    )
    table(
        "Memories",
        ("", "versions", "search"),
        ((name, versions(each), each.about) for name, each in memories.items()),
    )
    for name, read in READERS.items():
        if (path := getattr(asked, name)) is not None:
            show_recall(name, list(read(path)), memories, embed)
    if asked.laws:
        show_laws(memories, embed)


def versions(memory: type[Adapter]) -> str:
    """Return the packages behind an adapter, each with its version."""
    return ", ".join(f"{name} {version(name)}" for name in memory.packages) or "–"


def show_recall(
    name: str, corpora: list[Any], memories: dict[str, type[Adapter]], embed: Embed
) -> None:
    """Print a table of a data set."""
    if not corpora:
        sys.exit(f"--{name}: no conversations are there")
    turns, questions = (
        sum(len(getattr(each, part)) for each in corpora) for part in ("turns", "questions")
    )

    def rows() -> Iterable[Sequence[str]]:
        for memory, adapter in memories.items():
            means = evaluate(adapter, embed, corpora).means
            yield (memory, *(f"{means[metric]:.3f}" for metric in METRICS))

    title = f"{name}: {len(corpora)} conversations, {turns:,} turns, {questions:,} questions"
    table(title, ("", *METRICS), rows())


def show_laws(memories: dict[str, type[Adapter]], embed: Embed) -> None:
    """Print which memory keeps which law, and what was wrong."""
    problems: list[str] = []
    counts = dict.fromkeys(memories, 0)
    offered = dict.fromkeys(memories, 0)

    def rows() -> Iterable[Sequence[str]]:
        for law in LAWS:
            row = [(law.__doc__ or "").splitlines()[0]]
            for name, memory in memories.items():
                kept, problem = check(law, memory, embed)
                row.append(kept)
                counts[name] += kept == KEPT
                offered[name] += kept != NOT_OFFERED
                if kept == BROKEN:
                    problems.append(f"- {name}, {law.__name__}: {problem}")
            yield row
        yield (
            "**kept, of those offered**",
            *(f"{counts[each]} of {offered[each]}" for each in memories),
        )

    table("Laws", ("", *memories), rows())
    print("", *problems, sep="\n")


if __name__ == "__main__":
    main()
