"""Precision and recall of the rule-based name finder on WNUT-17 (emerging entities).

Run: ``python -m benchmarks names``, or this file with ``[--split dev|train] [--show]``. The data
is looked for in ``../shared/data`` beside the repository; without it nothing is measured.

A span counts if its first and last character are those of the annotation. WNUT's types are
mapped to ours; ``product``, ``creative-work`` and ``group`` have no type of their own here
and count as ``other`` (``project`` counts as ``other``, too). Marks that WNUT does not
annotate (dates, URLs, @mentions, hashtags, e-mails) are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from memoranda.entities.rules import RuleExtractor

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ner" / "wnut17"
FILES = {"dev": "emerging.dev.conll", "train": "wnut17train.conll"}
TYPES = {"person": "person", "location": "location", "corporation": "organization"}
MARKS = {"date", "url", "mention", "hashtag", "email"}

Span = tuple[int, int, str]


def sentences(path: Path) -> Iterator[tuple[str, set[Span]]]:
    """Yield each text, its words joined by spaces, and the annotated spans in it."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if "\t" in line]
        text, spans, at = "", [], 0
        for word, label, *_ in rows:
            kind = TYPES.get(label.strip()[2:], "other")
            if label.startswith("B-"):
                spans.append([at, at + len(word), kind])
            elif label.startswith("I-") and spans:
                spans[-1][1] = at + len(word)
            text += word + " "
            at = len(text)
        if rows:
            yield text, {(start, end, kind) for start, end, kind in spans}


def score(name: str, found: int, wanted: int, right: int) -> None:
    """Print precision, recall and their harmonic mean."""
    precision, recall = right / max(found, 1), right / max(wanted, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(
        f"{name:13} precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  "
        f"({right} of {wanted}, {found} found)"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=FILES, default="dev")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--show", action="store_true", help="print what was wrong")
    options = parser.parse_args()
    measure(options.data / FILES[options.split], options.split, show=options.show)


def run(data: Path) -> None:
    """Measure both splits of the data in the folder ``data``."""
    for split, file in FILES.items():
        measure(data / "ner" / "wnut17" / file, split)


def measure(path: Path, split: str, *, show: bool = False) -> None:
    """Measure one split."""
    if not path.exists():
        print(f"skipped: {path} is not there")
        return
    extractor = RuleExtractor()
    gold: set[tuple[int, int, int, str]] = set()
    ours: set[tuple[int, int, int, str]] = set()
    characters, spent = 0, 0.0
    for number, (text, spans) in enumerate(sentences(path)):
        began = time.perf_counter()
        mentions = extractor.extract(text)
        spent += time.perf_counter() - began
        characters += len(text)
        types = {m: "other" if m.type == "project" else m.type for m in mentions}
        here = {(m.start, m.end, t) for m, t in types.items() if t not in MARKS}
        gold |= {(number, *span) for span in spans}
        ours |= {(number, *span) for span in here}
        if show and here != spans:
            missed = [text[s:e] for s, e, _ in spans - here]
            extra = [(text[s:e], t) for s, e, t in here - spans]
            print(f"missed {missed} extra {extra} | {text}")
    untyped = len({span[:3] for span in gold} & {span[:3] for span in ours})
    print(f"WNUT-17 {split}: {number + 1} texts, {spent / characters * 150e3:.3f} ms per 150")
    score("untyped", len(ours), len(gold), untyped)
    score("typed", len(ours), len(gold), len(gold & ours))
    for kind in ("person", "location", "organization", "other"):
        want = {span for span in gold if span[3] == kind}
        have = {span for span in ours if span[3] == kind}
        score(f"  {kind}", len(have), len(want), len(want & have))


if __name__ == "__main__":
    main()
