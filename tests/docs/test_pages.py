"""The pages are right: links lead somewhere, paths exist, the drawing is that of the contract."""

import re
import tomllib
from pathlib import Path

from tables import each_row

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([\w-]+))?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
INSIDE = (ROOT / "docs" / "how-it-works.md").read_text("utf-8")
WHERE_IS = (ROOT / "docs" / "where-is.md").read_text("utf-8")


def read_anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@each_row("page", PAGES)
def test_links_lead_somewhere(page: Path):
    """The file of each link exists, and the heading that it names is in it."""
    broken = []
    for path, anchor in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in read_anchors(target)):
            broken.append(f"{path}#{anchor}")
    assert broken == []


def test_the_paths_that_pages_name_exist():
    """Those in the tables of where-is.md in the repository, those of the inside in the package."""
    tables = "\n".join(line for line in WHERE_IS.splitlines() if line.startswith("|"))
    paths = {ROOT / path for path in re.findall("`([^`]+)`", tables)}
    assert len(paths) > 5
    inside = set(re.findall(r"`([a-z_]+/[\w/.]+)`", INSIDE)) - {"src/memoranda"}
    paths |= {ROOT / "src" / "memoranda" / path for path in inside}
    assert sorted(str(path) for path in paths if not path.exists()) == []
    assert all(path.is_relative_to(ROOT) for path in paths)


def test_the_drawing_has_the_storeys_of_the_contract():
    """The drawing names the rooms in the order of the import contract, one storey a line."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    built = [[room for room in re.split(r"[ |]+", layer) if "(" not in room] for layer in layers]
    drawing = INSIDE.split("```")[1].splitlines()
    drawn = [line.split("│")[1].split("·") for line in drawing if line.count("│") == 2]
    assert [[room.strip() for room in line] for line in drawn] == [line for line in built if line]
