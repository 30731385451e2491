"""Tests that text from outside is read by patterns that run in linear time."""

import ast
from pathlib import Path

import memoranda

ROOT = Path(memoranda.__file__).parent
# These read what the program itself wrote, or what whoever runs it set: no text from outside.
OWN_TEXT = {
    "model/passwords.py",
    "settings/parsing.py",
    "settings/sections.py",
    "store/chroma/memories.py",
    "store/postgres.py",
    "store/sql/database.py",
    "testing/embedders.py",
    "testing/models.py",
}
# They make the patterns of all others.
ENGINE = {"text/linear_patterns.py", "text/patterns.py", "facts/forms.py"}
# They read word by word, without going back.
SCANNERS = {"text/repetition.py", "text/terms.py", "tokens/estimate.py"}
COMPILING = {
    "compile",
    "search",
    "match",
    "fullmatch",
    "split",
    "sub",
    "subn",
    "findall",
    "finditer",
}


def calls(tree: ast.AST, module: str) -> set[str]:
    """Return the functions of a module that a file calls."""
    found = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        each.attr
        for each in found
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == module
    }


def test_nobody_else_compiles_a_pattern_that_can_backtrack():
    """Only a few named files use the engine that backtracks, none of them on text from outside."""
    using = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if calls(ast.parse(file.read_text("utf-8")), "re") & COMPILING
    }
    assert using - ENGINE == OWN_TEXT


def test_only_tokenizers_use_scanners():
    """A scanner, which must not go back by its pattern alone, is the exception."""
    using = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if "compile_scanner(" in file.read_text("utf-8")
    }
    assert using - ENGINE == SCANNERS
