"""The figures of quality as they were kept, beside those of now.

Each part runs in a process of its own, as its command would. What it prints, or writes as JSON,
becomes figures by name; those that were kept stand in ``frozen_retrieval.json`` and
``frozen_quality.json``, without any of the data.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 0.005
RETRIEVAL = "retrieval"
LEARNED = "learned"
TABLES = ("facts", "dates", "names", "updates")
PARTS = (RETRIEVAL, LEARNED, *TABLES)
SETS = "locomo,beam100k"
PLUGIN = "benchmarks.retrieval_plugin:make"
METRICS = ("recall@5", "recall@10", "all@5", "all@10", "ndcg@10", "mrr")
NUMBER = re.compile(r"-?[\d,]*\.?\d+(?: of \d+)?$")
SCORES = re.compile(r"^\s*(\w+)\s+precision (\S+)\s+recall (\S+)\s+F1 (\S+)")
Figures = dict[str, float]


def run(shared: Path, parts: Sequence[str], *, keep: bool = False) -> bool:
    """Print each figure beside the kept one; return whether all are the same.

    Args:
        shared: the folder with ``data/`` and ``eval/``.
        parts: of :data:`PARTS`; all, if empty.
        keep: keep the figures of now instead of comparing.
    """
    same = True
    for part in parts or PARTS:
        now = _figures(part, shared)
        if keep:
            _keep(part, now)
        same &= _compare(part, now, _kept(part).get(part, {}))
    print("\nAll figures are as they were." if same else "\nSome figures differ.")
    return same


def _compare(part: str, now: Figures, kept: Figures) -> bool:
    print(f"\n### {part}\n\n| figure | kept | now | |\n|---|---|---|---|")
    different = 0
    for name in dict.fromkeys([*kept, *now]):
        before, after = kept.get(name), now.get(name)
        close = before is not None and after is not None and abs(after - before) <= TOLERANCE
        different += not close
        print(f"| {name} | {before} | {after} | {'' if close else '**differs**'} |")
    print(f"\n{different} of {len(kept | now)} differ by more than {TOLERANCE}.", flush=True)
    return not different and bool(kept)


def _file(part: str) -> Path:
    return ROOT / "benchmarks" / f"frozen_{RETRIEVAL if part == RETRIEVAL else 'quality'}.json"


def _kept(part: str) -> dict[str, Figures]:
    file = _file(part)
    found: dict[str, Figures] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def _keep(part: str, figures: Figures) -> None:
    text = json.dumps(_kept(part) | {part: figures}, indent=1, sort_keys=True, ensure_ascii=False)
    _file(part).write_text(f"{text}\n", encoding="utf-8")


def _figures(part: str, shared: Path) -> Figures:
    if part in TABLES:
        return table_figures(_output("-m", "benchmarks", part, "--shared", str(shared)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        if part == RETRIEVAL:
            script, data = shared / "eval" / "retrieval_eval.py", shared / "data"
            asked = ("--data", str(data), "--sets", SETS, "--arms", "", "--plugin", PLUGIN)
            _output(str(script), *asked, "--json", str(file))
            return retrieval_figures(json.loads(file.read_text("utf-8")))
        _output(str(shared / "eval" / "learned.py"), "--json", str(file))
        return learned_figures(json.loads(file.read_text("utf-8")))


def _output(*arguments: str) -> str:
    """Return what Python prints, with this repository's sources and nobody's settings."""
    plain = {name: value for name, value in os.environ.items() if "MEMORANDA_" not in name}
    sources = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    env = plain | {"PYTHONPATH": sources, "MEMORANDA_CONFIG": os.devnull + ".toml"}
    done = subprocess.run(  # noqa: S603 - our own scripts and those beside the data
        [sys.executable, *arguments], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout


def retrieval_figures(result: Mapping[str, Any]) -> Figures:
    """Return the means of the evaluator, whole and by category."""
    figures = {}
    for name, arm in result.items():
        place = name.removesuffix("/plugin")
        for group, means in {"all": arm["all"], **arm["by_category"]}.items():
            figures |= {f"{place}, {group}, {key}": round(means[key], 4) for key in METRICS}
    return figures


def learned_figures(result: Mapping[str, Any]) -> Figures:
    """Return the share of cases that are right, by group."""
    return {name: round(right / cases, 4) for name, (right, cases) in result["score"].items()}


def table_figures(text: str) -> Figures:
    """Return every number of the Markdown tables, and of lines of precision and recall."""
    figures: Figures = {}
    title, table = "", list[list[str]]()
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            table.append(cells)
            figures |= {f"{title}, {name}": value for name, value in _row(table)}
            continue
        table = []
        if scores := SCORES.match(line):
            named = zip(("precision", "recall", "F1"), scores.groups()[1:], strict=True)
            figures |= {f"{title}, {scores[1]}, {name}": float(value) for name, value in named}
        elif line.startswith("### ") or " texts, " in line:
            title = line.removeprefix("### ").partition(":")[0]
    return figures


def _row(table: Sequence[Sequence[str]]) -> Iterator[tuple[str, float]]:
    """Give the numbers of the last row; its words say which it is, else its place."""
    header, cells = table[0], table[-1]
    numbers = [place for place, cell in enumerate(cells) if NUMBER.match(cell)]
    if not numbers:
        return
    label = " ".join(cells[: numbers[0]]).strip() or f"row {len(table) - 2}"
    for place in numbers:
        yield f"{label}, {header[place]}", float(cells[place].split()[0].replace(",", ""))
