"""The table of requirements is complete, and what it calls done is proved by a test that exists."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

from proofs import PROOF, Row, read_rows
from tables import each_row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
# How many requirements each group of the first document has: R1.1 to R1.6, and so on.
GROUPS = {"R1": 6, "R2": 6, "R3": 6, "R4": 4} | dict.fromkeys(
    ("R5", "R6", "R7", "R8", "R9", "N1", "N2", "N3", "N4"), 5
)
ROWS = read_rows(PAGE)


@cache
def defined_in(path: str) -> frozenset[str]:
    """Return the names of the test functions that a file defines, in classes too."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text("utf-8"))
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(f.name for f in functions if f.name.startswith("test_"))


def test_every_requirement_is_there_once():
    """R1.1 to N4.5 of the first document, the workflows, those of the others without a gap."""
    ids = [row.id for row in ROWS]
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    expected = {f"{group}.{n}" for group, size in GROUPS.items() for n in range(1, size + 1)}
    assert {name for name in ids if re.fullmatch(r"[RN]\d\.\d+", name)} == expected
    assert {*ids} >= {f"W{n}" for n in range(1, 6)}
    for document in range(1, 5):
        own = [name for name in ids if name.startswith(f"S{document}.")]
        assert len(own) > 25
        assert own == [f"S{document}.{n:02d}" for n in range(1, len(own) + 1)]


@each_row("row", ROWS)
def test_what_is_done_is_proved(row: Row):
    """A done row names tests that exist and nothing else; one that is not yet done names none."""
    assert row.requirement
    assert row.status in {"done", "not yet"}
    if row.status == "not yet":
        assert row.proof == ""
        return
    assert row.proofs, f"{row.id} is done by what test?"
    assert PROOF.sub("", row.proof).strip(", ") == ""
    assert [str(proof) for proof in row.proofs if proof.name not in defined_in(proof.path)] == []
