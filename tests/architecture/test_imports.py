"""What ``import recollect`` costs: none of the heavy libraries is loaded before it is needed."""

import subprocess
import sys

HEAVY = ["onnxruntime", "openai", "torch", "sentence_transformers", "typer", "rich"]


def test_importing_recollect_loads_nothing_heavy():
    """A fresh interpreter that imports recollect has no model runtime and no terminal library."""
    program = f"import sys, recollect; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run(  # noqa: S603 - our own interpreter, fixed arguments
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"
