"""The page that says where things are is right: every path in its tables exists."""

import re
from pathlib import Path

from tables import each_row

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "where-is.md"


def read_paths() -> list[str]:
    """Return what stands in backticks in the tables of the page."""
    if not PAGE.is_file():
        return []
    lines = PAGE.read_text("utf-8").splitlines()
    quoted = (
        text for line in lines if line.startswith("|") for text in re.findall("`([^`]+)`", line)
    )
    return list(dict.fromkeys(quoted))


PATHS = read_paths()


def test_the_page_names_paths():
    """The page is there and has a table with paths."""
    assert len(PATHS) > 5


@each_row("path", PATHS)
def test_the_path_exists(path: str):
    """A file or folder of the repository has this path."""
    assert not Path(path).is_absolute()
    assert (ROOT / path).exists()
