"""One name, one thing: a class is found by its name alone."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "memoranda"
PRIVATE_DUPLICATES = 3


def shared_names():
    """Return the class names that stand more than once in the package, with their modules."""
    places = defaultdict(list)
    for module in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(module.relative_to(PACKAGE)))
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def test_class_names_are_unique():
    """No two public classes of the package share a name, and at most three private names do."""
    shared = shared_names()
    public = {name: modules for name, modules in shared.items() if not name.startswith("_")}
    assert public == {}
    assert len(shared) <= PRIVATE_DUPLICATES, shared
