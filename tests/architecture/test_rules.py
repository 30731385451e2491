"""The rules of the code: imports, names of classes, and patterns that run in linear time."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest
from bare_environment import run_python
from tables import each_row

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
ENGINE = {"text/patterns.py", "facts/forms.py"}
# They read word by word, without going back.
SCANNERS = {
    "conversation/signals.py",
    "entities/rules.py",
    "records/erased_words.py",
    "text/terms.py",
    "tokens/estimate.py",
}
PRIVATE_DUPLICATES = 3
CONTRACTS = 4
HEAVY = ["onnxruntime", "openai", "anthropic", "pydantic_ai", "torch", "typer", "rich"]


@pytest.fixture(scope="module")
def modules():
    """Return the syntax tree of each module of the package, by its path in it."""
    return {
        str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8"))
        for file in sorted(ROOT.rglob("*.py"))
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


def test_nobody_else_compiles_a_pattern_that_can_backtrack(modules):
    """Only a few named files use the engine that backtracks, none of them on text from outside."""
    using = {path for path, tree in modules.items() if calls(tree, "re") - {"escape"}}
    assert using - ENGINE == OWN_TEXT


def test_only_tokenizers_use_scanners():
    """A scanner, which must not go back by its pattern alone, is the exception."""
    using = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if "compile_scanner(" in file.read_text("utf-8")
    }
    assert using - ENGINE == SCANNERS


def test_class_names_are_unique(modules):
    """No two public classes of the package share a name, and at most three private names do."""
    places = defaultdict(list)
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in shared.items() if not name.startswith("_")} == {}
    assert len(shared) <= PRIVATE_DUPLICATES, shared


def test_no_name_of_a_module_is_given_twice(modules):
    """A constant that another one of its name hides would hold for nobody."""
    hidden = {}
    for path, tree in modules.items():
        given = [
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        if twice := {name for name in given if given.count(name) > 1}:
            hidden[path] = twice
    assert hidden == {}


def run(program: str, *arguments: str) -> str:
    """Return what a program prints in an interpreter of its own."""
    done = run_python("-c", program, *arguments, cwd=ROOT.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_import_contracts_are_kept():
    """Every contract in pyproject.toml holds; the failing ones are shown."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    assert f"{CONTRACTS} kept, 0 broken" in run(lint, "--no-cache")


def test_importing_memoranda_loads_nothing_heavy():
    """A fresh interpreter that imports memoranda has no model runtime and no terminal library."""
    program = f"import sys, memoranda; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    assert run(program).strip() == "[]"


def test_all_failing_rows_are_told():
    """The rows that fail are named, and the others run all the same."""
    ran = []

    @each_row(("number", "double"), [(1, 2), (2, 5), (3, 6), (4, 9)])
    def check(number, double):
        ran.append(number)
        assert number * 2 == double

    with pytest.raises(pytest.fail.Exception, match=r"2 of 4 rows:") as told:
        check()
    assert ran == [1, 2, 3, 4]
    assert "'number': 2" in str(told.value)
    assert "'number': 4" in str(told.value)
    assert "'number': 1" not in str(told.value)
