"""The prompts as files: packaged, short, and naming every field that is asked for."""

import dataclasses
from importlib.resources import files
from pathlib import Path

from tables import each_row

from memoranda.learning.claims import Category
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer, ReflectionAnswer, fenced, instructions
from memoranda.notes.model_summarizer import Consolidation
from memoranda.text.lines import shorten

ROOT = Path(__file__).parents[2]
PROMPTS = ROOT / "src" / "memoranda" / "learning" / "prompts"
ANSWERS = {
    "extract": [ClaimsAnswer, ClaimAnswer],
    "reflect": [ReflectionAnswer],
    "summary": [Consolidation],
    "compress": [],
}


def test_every_prompt_is_known_and_packaged():
    """Each file is read as a resource of the package, which the wheel takes in as a whole."""
    assert {path.stem for path in PROMPTS.glob("*.md")} == set(ANSWERS)
    for name in ANSWERS:
        text = files("memoranda.learning").joinpath("prompts", f"{name}.md").read_text("utf-8")
        assert instructions(name) == text.strip() != ""
    assert 'packages = ["src/memoranda"]' in (ROOT / "pyproject.toml").read_text("utf-8")
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()  # The build leaves these out.
    assert not [line for line in ignored if line.endswith(".md") or "prompts" in line]


@each_row("name", sorted(ANSWERS))
def test_a_prompt_names_every_field_and_is_short(name):
    """All fields of the answer stand in it as code, and it fits on a page.

    Whoever reads other people's words is told not to obey them.
    """
    text = instructions(name)
    for answer in ANSWERS[name]:
        for field in dataclasses.fields(answer):
            assert f"`{field.name}`" in text or f'"{field.name}"' in text
    assert len(text) < 3_000
    assert name == "compress" or ("data" in text and "follow them" in text)


def test_prompts_name_every_word_of_closed_lists():
    """A model cannot choose what it is not told."""
    chosen = set(Category) - {Category.STATEMENT}  # which only rules quote
    assert all(f"`{one.value}`" in instructions("extract") for one in chosen)


def test_long_texts_lose_their_middle():
    """The beginning and the end stay, within the bound; no rows leave the tags of a fence."""
    text = shorten("a" * 50 + "b" * 50, 21)
    assert (len(text), text[0], text[-1]) == (21, "a", "b")
    assert shorten("short", 21) == "short"
    assert fenced("turns", []) == "<turns>\n</turns>"
