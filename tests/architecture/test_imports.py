"""What ``import memoranda`` costs: none of the heavy libraries is loaded before it is needed."""

import subprocess
import sys

HEAVY = ["onnxruntime", "openai", "torch", "sentence_transformers", "typer", "rich"]


def test_importing_memoranda_loads_nothing_heavy():
    """A fresh interpreter that imports memoranda has no model runtime and no terminal library."""
    program = f"import sys, memoranda; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run(  # noqa: S603 - our own interpreter, fixed arguments
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[]"
