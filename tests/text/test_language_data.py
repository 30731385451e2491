"""Tests of the data files of languages."""

import ast
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from memoranda.text import patterns
from memoranda.text.patterns import PatternError

FILES = {
    "dates.toml": "days = ['uno']\n[months]\nmai = 5\n",
    "names.txt": "# people\nAna  Ben # and\nCid_Li\n",
    "things.toml": "colours = ['red', 'dark red']\n"
    "thing = '''\n  \\b{colours}\n  \\s+car{1,2}\n'''\n[plurals]\nox = 'oxen'\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of one language."""
    (tmp_path / "xx").mkdir()
    for name, text in FILES.items():
        (tmp_path / "xx" / name).write_text(text, "utf-8")
    monkeypatch.setattr(patterns, "_FOLDER", tmp_path)
    for cached in (patterns.load, patterns.words_of, patterns.languages_with):
        cached.cache_clear()
    yield
    for cached in (patterns.load, patterns.words_of, patterns.languages_with):
        cached.cache_clear()


def test_data_of_languages_is_no_code():
    """The folder of languages holds data and its README, no Python."""
    files = [path for path in patterns._FOLDER.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix not in {".md", ".toml", ".txt"}]


@pytest.mark.usefixtures("folder")
def test_data_is_read_once_and_cannot_be_changed():
    """Arrays come as tuples, tables read-only; lists of all languages are one set."""
    data = patterns.load("xx", "dates")
    assert (data["days"], data["months"]["mai"]) == (("uno",), 5)
    with pytest.raises(TypeError):
        data["months"]["mai"] = 6
    assert patterns.load("xx", "dates") is data
    # In a plain list a number sign begins a comment, and an underscore joins.
    assert patterns.words_of("names") == {"Ana", "Ben", "Cid Li"}
    assert patterns.word_list("dates", "days") == {"uno"}
    assert (patterns.languages_with("dates"), patterns.languages_with("else")) == (("xx",), ())


@pytest.mark.usefixtures("folder")
def test_entries_of_a_file_make_patterns():
    """A pattern may go over lines and name other entries; a list stands for any of its words."""
    data = patterns.LanguageData("xx", "things")
    assert data.thing.search("a Dark  red CARR!")[0] == "Dark  red CARR"
    assert data.thing is data.thing
    cased = patterns.LanguageData("xx", "things", flags=0)
    assert cased.thing.search("a Dark  red CARR!") is None
    assert not hasattr(data, "_thing")
    assert data.words("colours") == {"red", "dark red"}


def test_a_pattern_is_compiled_when_it_is_first_used():
    """A mistake in it shows then; its longest word is tried first, with any white space inside."""
    broken = patterns.compile_pattern("(")
    with pytest.raises(PatternError):
        broken.search("text")
    group = patterns.compile_pattern(patterns.any_of(["a", "a few", "few"]))
    assert group.search("in a  few days")[0] == "a  few"


def _asked_names() -> Iterator[tuple[patterns.LanguageData, str, str]]:
    """Yield the data, the method and the name of each entry that a module asks for by name."""
    for path in Path(str(resources.files("memoranda"))).rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        known = {
            getattr(node.targets[0], "id", ""): patterns.LanguageData(
                *(each.value for each in node.value.args)
            )
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and getattr(node.value.func, "id", "") == "LanguageData"
            and all(isinstance(each, ast.Constant) for each in node.value.args)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and not hasattr(patterns.LanguageData, node.attr):
                data = known.get(getattr(node.value, "id", ""))
                if data is not None:
                    yield data, "attribute", node.attr
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            data = known.get(getattr(node.func.value, "id", ""))
            if data is None or node.func.attr not in {"words", "source"}:
                continue
            for name in node.args if node.func.attr == "words" else node.args[:1]:
                if isinstance(name, ast.Constant):
                    yield data, node.func.attr, name.value


def test_every_name_that_code_asks_for_is_in_its_file_and_can_be_used():
    """A list has words, a table entries, and a pattern is one that the engine takes."""
    asked = list(_asked_names())
    assert len(asked) > 50
    for data, kind, name in asked:
        made = getattr(data, name) if kind == "attribute" else getattr(data, kind)(name)
        assert made.pattern if kind == "attribute" else made, name
