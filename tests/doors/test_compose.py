"""What compose.yaml and the Dockerfile say: secrets, a volume that stays, files that are there."""

import re
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text("utf-8")
WHOLE = YAML(typ="safe").load(TEXT)
VARIABLE = re.compile(r"\$\{(\w+)(:[?-])([^}]*)\}")


def test_a_secret_comes_from_outside_and_is_asked_for():
    """No password or token stands in the file, and without one Compose says what to write."""
    wanted = {name: message for name, sign, message in VARIABLE.findall(TEXT) if sign == ":?"}
    assert set(wanted) == {"POSTGRES_PASSWORD"}
    assert all(f"write {name}=" in message for name, message in wanted.items())
    named = re.findall(r"^ +(\w*(?:PASSWORD|TOKENS)): (.*)$", TEXT, re.MULTILINE)
    assert len(named) == 2
    assert all(VARIABLE.fullmatch(value) for _, value in named)


def test_the_database_is_kept():
    """In a volume with a name; who needs it waits until it answers."""
    database = WHOLE["services"]["database"]
    assert database["image"].startswith("postgres:")
    (volume,) = database["volumes"]
    assert volume.partition(":")[0] in WHOLE["volumes"]
    for name in ("worker", "serve"):
        needed = WHOLE["services"][name]["depends_on"]
        assert needed == {"database": {"condition": "service_healthy"}}


def test_the_image_has_what_it_copies_and_installs():
    """What the Dockerfile names is in the repository."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    copied = [
        each for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for each in line.split()
    ]
    assert copied
    assert all((ROOT / each).exists() for each in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extras,) = re.findall(r"'\.\[(.+)\]'", text)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {project["readme"], *project["license-files"]} <= set(copied)
