"""The size and shape of the source: small files, small functions, no hidden imports."""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "memoranda"
FILES = sorted(SOURCE.rglob("*.py"))
NAMES = [str(file.relative_to(SOURCE)) for file in FILES]
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a source file."""
    return ast.parse(file.read_text("utf-8"), str(file))


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield every function and method, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Return the lines of a function from its ``def`` to its end."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def is_ours(node: ast.AST) -> bool:
    """Return whether a statement imports from this package."""
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").split(".")[0] == "memoranda"
    return isinstance(node, ast.Import) and any(
        alias.name.split(".")[0] == "memoranda" for alias in node.names
    )


def test_there_is_source_to_look_at():
    """The other tests of this file do not pass for want of files."""
    assert len(FILES) > 20
    assert SOURCE / "core" / "ports.py" in FILES


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_file_fits_in_the_head(file: Path):
    """No file has more than 500 lines."""
    assert len(file.read_text("utf-8").splitlines()) <= 500


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_function_fits_on_the_screen(file: Path):
    """No function has more than 40 lines."""
    long = [f"{f.name} ({length(f)} lines)" for f in functions(parsed(file)) if length(f) > 40]
    assert not long


def test_most_functions_are_short():
    """Nine functions of ten have fewer than 25 lines."""
    lengths = [length(function) for file in FILES for function in functions(parsed(file))]
    assert quantiles(lengths, n=10)[-1] < 25


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_file_says_why_it_exists(file: Path):
    """Every module has a docstring."""
    assert ast.get_docstring(parsed(file))


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_module_is_named_for_what_it_does(file: Path):
    """No module or package is a drawer for leftovers."""
    path = file.relative_to(SOURCE).with_suffix("")
    assert not EMPTY_NAMES & {word for part in path.parts for word in part.split("_")}


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_imports_of_our_own_stand_at_the_top(file: Path):
    """No function imports this package, but where wiring reaches for an optional extra."""
    if file == SOURCE / "app" / "wiring.py":
        return
    hidden = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for function in functions(parsed(file))
        for node in ast.walk(function)
        if is_ours(node)
    ]
    assert not hidden


def test_wiring_hides_only_imports_of_extras():
    """In wiring, a function that imports this package is one that names a missing extra."""
    hidden = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for function in functions(parsed(SOURCE / "app" / "wiring.py"))
        if "MissingExtra" not in ast.unparse(function)
        for node in ast.walk(function)
        if is_ours(node)
    ]
    assert not hidden


def test_ports_are_documented():
    """Every public class, method and function of the ports has a docstring."""
    missing = [
        node.name
        for node in ast.walk(parsed(SOURCE / "core" / "ports.py"))
        if isinstance(node, Function | ast.ClassDef)
        and (not node.name.startswith("_") or node.name == "__call__")
        and not ast.get_docstring(node)
    ]
    assert not missing
