"""The examples of docs/frameworks.md, as the page has them."""

import re
from pathlib import Path
from types import SimpleNamespace

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def load_example(heading: str) -> tuple[SimpleNamespace, int]:
    """Return what the first code block under a heading defines, and how many lines it has."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - it is our own page
    return SimpleNamespace(**names), sum(bool(line.strip()) for line in code.splitlines())
