"""Go through the first pages as a new user would: ``make quickstart``.

Builds the wheel, makes an empty virtual environment, and installs the wheel there without an extra:
the Python examples of each page need no model. Then it runs the commands and examples of each page,
in order, in a fresh folder. ``pip install`` finds our wheel, and the model is where ``memoranda
config models pull`` looks for it, so only the dependencies come from the registry.

The Python of the empty environment runs this file as well, to read a page: it needs the standard
library alone.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestParser, DocTestRunner, OutputChecker
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/quickstart.md")
LANGUAGES = ("sh", "python", "console")
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (?P<command>.+)\n(?P<output>(?:(?!\$ ).*\n?)*)", re.MULTILINE)
MODEL_FOLDER = "from memoranda.providers.embedding.model_files import *; print(default_folder())"
MODEL_FILES = "from memoranda.providers.embedding.model_files import *; print(find())"


class Failed(Exception):
    """A page does not do what it says; the message says where."""


def run_python(code: str, names: dict[str, object]) -> None:
    """Run an example with the names that earlier ones left, and check what it prints."""
    if ">>> " not in code:
        exec(compile(code, "<page>", "exec"), names)  # noqa: S102  # Our own pages.
        return
    test = DocTestParser().get_doctest(code, {}, "page", "page", 0)
    test.globs = names
    if DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed:
        raise Failed(code)


def run_console(code: str) -> None:
    """Run each command after a ``$``, and check what it prints."""
    for match in COMMAND.finditer(code):
        done = subprocess.run(
            shlex.split(match["command"]), capture_output=True, text=True, check=False
        )
        same = OutputChecker().check_output(match["output"], done.stdout, FLAGS)
        if done.returncode or not same:
            raise Failed(f"$ {match['command']}\n{done.stdout}{done.stderr}")


def run_page(page: Path, languages: Collection[str]) -> None:
    """Run the blocks of a page that are in some languages, in the folder that is current."""
    names: dict[str, object] = {"__name__": "page"}
    for block in BLOCK.finditer(page.read_text("utf-8")):
        language, code = block["language"], block["code"]
        if language not in LANGUAGES:
            raise Failed(f"{page.name}: nothing runs a block of {language}")
        if language not in languages:
            continue
        if language == "sh":
            subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=True)
        elif language == "python":
            run_python(code, names)
        else:
            run_console(code)


def ask(code: str, environment: Mapping[str, str]) -> str:
    """Return what a piece of Python prints that may import memoranda from here."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def new_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of a user with an empty home, an empty Python and our wheel."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels, python = scratch / "wheels", scratch / "python"
    subprocess.run([*pip, "-qq", "wheel", "--no-deps", "-w", wheels, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    (wheel,) = wheels.glob("memoranda-*.whl")
    ours = wheels / "constraint.txt"
    ours.write_text(f"memoranda=={wheel.name.split('-')[1]}\n")

    here = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MEMORANDA_", "PYTHON", "XDG_"))
    }
    cache = subprocess.run([*pip, "cache", "dir"], check=True, capture_output=True, text=True)
    user = here | {
        "HOME": str(scratch / "home"),
        "PATH": f"{python / 'bin'}{os.pathsep}{here['PATH']}",
        "PIP_CACHE_DIR": cache.stdout.strip(),
        "PIP_CONSTRAINT": f"{here.get('PIP_CONSTRAINT', '')} {ours}".strip(),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_FIND_LINKS": f"{wheels} {here.get('PIP_FIND_LINKS', '')}".strip(),
        "PIP_NO_COMPILE": "1",
        "PIP_QUIET": "2",
        "VIRTUAL_ENV": str(python),
        "TTY_COMPATIBLE": "1",  # The pages show what a reader sees in a terminal.
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    model = Path(ask(MODEL_FOLDER, user | {"PYTHONPATH": str(ROOT / "src")}))
    model.parent.mkdir(parents=True)
    model.symlink_to(ask(MODEL_FILES, here | {"PYTHONPATH": str(ROOT / "src")}))
    return user


def check_installed(scratch: Path) -> None:
    """Check that what was installed is our wheel, file by file, and none of the registry."""
    (wheel,) = (scratch / "wheels").glob("memoranda-*.whl")
    with ZipFile(wheel) as archive:
        (record,) = (name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        ours = archive.read(record).decode().splitlines()
    (installed,) = (scratch / "python").glob(f"lib/*/site-packages/{record}")
    strange = {line for line in ours if "sha256=" in line} - set(installed.read_text().splitlines())
    if strange:
        raise Failed(f"another memoranda was installed: {sorted(strange)[:3]}")


def main() -> None:
    """Run every page in a new environment; or, in this one, that which is given, in languages."""
    if len(sys.argv) > 1:
        run_page(Path(sys.argv[1]), sys.argv[2:])
        return
    begun = time.monotonic()
    with TemporaryDirectory(prefix="memoranda-quickstart-") as name:
        scratch = Path(name)
        user = new_environment(scratch)
        python = scratch / "python" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "memoranda"], env=user, check=True)
        # Without a model first: the first page that is run whole installs it.
        for languages, page in product((("python",), LANGUAGES), PAGES):
            folder = scratch / f"{Path(page).stem}-{len(languages)}"
            folder.mkdir()
            command = [python, Path(__file__), ROOT / page, *languages]
            if subprocess.run(command, cwd=folder, env=user, check=False).returncode:
                sys.exit(f"{page} does not do what it says, in an empty environment")
            check_installed(scratch)
            print(f"{page}: {', '.join(languages)} ran, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
