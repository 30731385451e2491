"""No link of the documents leads nowhere."""

import re
from pathlib import Path

from tables import each_row

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([\w-]+))?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


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
