"""Tests of the data files of languages."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from memoranda.text import patterns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of one language with one topic."""
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "dates.toml").write_text("days = ['uno']\n[months]\nmai = 5\n", "utf-8")
    (tmp_path / "xx" / "names.txt").write_text("# people\nAna  Ben # and\nCid_Li\n", "utf-8")
    monkeypatch.setattr(patterns, "_FOLDER", tmp_path)
    for cached in (patterns.load, patterns.words_of, patterns.languages_with):
        cached.cache_clear()
    yield
    for cached in (patterns.load, patterns.words_of, patterns.languages_with):
        cached.cache_clear()


@pytest.mark.usefixtures("folder")
def test_what_is_loaded_is_shared_and_cannot_be_changed():
    """Arrays come as tuples, tables read-only, and a file is read once."""
    data = patterns.load("xx", "dates")
    assert data["days"] == ("uno",)
    assert data["months"]["mai"] == 5
    with pytest.raises(TypeError):
        data["months"]["mai"] = 6
    assert patterns.load("xx", "dates") is data


@pytest.mark.usefixtures("folder")
def test_a_plain_list_has_words_and_comments():
    """Words stand between white space; a number sign begins a comment, an underscore joins."""
    assert patterns.words_of("names") == {"Ana", "Ben", "Cid Li"}


@pytest.mark.usefixtures("folder")
def test_lists_of_all_languages_are_one_set():
    """A list is an attribute of its topic, and one that no language has is a mistake."""
    assert patterns.WordLists("dates").days == {"uno"}
    with pytest.raises(AttributeError, match="nights"):
        _ = patterns.WordLists("dates").nights


@pytest.mark.usefixtures("folder")
def test_each_topic_knows_its_languages():
    """Only the languages with a file on the topic are named."""
    assert patterns.languages_with("dates") == ("xx",)
    assert patterns.languages_with("else") == ()


def test_data_of_languages_is_no_code():
    """The folder of languages holds data and its README, no Python."""
    files = [path for path in patterns._FOLDER.rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix not in {".md", ".toml", ".txt"}]


def test_entries_of_a_file_make_patterns(tmp_path, monkeypatch):
    """A pattern may go over lines and name other entries; a list stands for any of its words."""
    (tmp_path / "yy").mkdir()
    text = "colours = ['red', 'dark red']\nthing = '''\n  \\b{colours}\n  \\s+car{1,2}\n'''\n"
    (tmp_path / "yy" / "things.toml").write_text(text, "utf-8")
    monkeypatch.setattr(patterns, "_FOLDER", tmp_path)
    data = patterns.LanguageData("yy", "things")
    assert data.pattern("thing").search("a Dark  red CARR!")[0] == "Dark  red CARR"
    assert data.thing.search("a Dark  red CARR!")[0] == "Dark  red CARR"
    assert patterns.LanguageData("yy", "things", flags=0).thing.search("a Dark  red CARR!") is None
    assert not hasattr(data, "_thing")
    assert data.words("colours") == {"red", "dark red"}


def test_a_list_can_hold_another_list_and_a_table_maps_words(tmp_path, monkeypatch):
    """A name in braces stands for the words of that list; a pattern is compiled once."""
    (tmp_path / "zz").mkdir()
    (tmp_path / "zz" / "things.toml").write_text(
        "warm = ['red', '{hot}']\nhot = ['orange']\nred = 'r+e'\n[plurals]\nox = 'oxen'\n", "utf-8"
    )
    monkeypatch.setattr(patterns, "_FOLDER", tmp_path)
    data = patterns.LanguageData("zz", "things")
    assert data.words("warm") == {"red", "orange"}
    assert data.mapping("plurals")["ox"] == "oxen"
    assert data.pattern("red") is data.pattern("red")


def test_importing_reads_no_file():
    """What a language knows is read when a text first needs it, never at import."""
    program = (
        "from memoranda import Memory\n"
        "from memoranda.text import patterns\n"
        "assert Memory\n"
        "print(patterns.load.cache_info().misses, patterns.words_of.cache_info().misses)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "0"]


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
            if data is None or node.func.attr not in {"words", "pattern", "mapping"}:
                continue
            for name in node.args if node.func.attr == "words" else node.args[:1]:
                if isinstance(name, ast.Constant):
                    yield data, node.func.attr, name.value


def test_every_name_that_code_asks_for_is_in_its_file_and_can_be_used():
    """A list has words, a table entries, and a pattern is one that the engine takes."""
    asked = list(_asked_names())
    assert len(asked) > 100
    for data, kind, name in asked:
        made = getattr(data, name) if kind == "attribute" else getattr(data, kind)(name)
        assert made.pattern if kind in {"attribute", "pattern"} else made, name
