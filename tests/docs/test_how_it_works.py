"""The page on the inside is right: its paths exist, and its storeys are those of the contract."""

import re
import tomllib
from pathlib import Path

from tables import each_row

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
PATHS = sorted(set(re.findall(r"`([a-z_]+/[\w/.]+)`", PAGE)) - {"src/memoranda"})


@each_row("path", PATHS)
def test_the_path_exists(path: str):
    """A file or folder of the package has this path."""
    assert (ROOT / "src" / "memoranda" / path).exists()


def test_the_drawing_has_the_storeys_of_the_contract():
    """The drawing names the rooms in the order of the import contract, one storey a line."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    built = [[room for room in re.split(r"[ |]+", layer) if "(" not in room] for layer in layers]
    drawing = PAGE.split("```")[1].splitlines()
    drawn = [line.split("│")[1].split("·") for line in drawing if line.count("│") == 2]
    assert [[room.strip() for room in line] for line in drawn] == [line for line in built if line]
