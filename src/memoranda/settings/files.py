"""The settings file: finding, reading and rewriting it.

Writers keep each other out by ``config.toml.lock`` beside the file, and a new text takes the
place of the old one in one step. So nobody reads half a file, two writers never undo each
other's change, and a writer that is killed leaves the file as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from memoranda.errors import ConfigError
from memoranda.settings.formats import Format, TomlFormat, YamlFormat, change
from memoranda.settings.nested import Place
from memoranda.text.files import PRIVATE, write_whole

VARIABLE = "MEMORANDA_CONFIG"
NAMES = ("config.toml", "config.yaml", "config.yml")
# Seconds to wait for another writer, who needs a fraction of one.
PATIENCE = 10.0
BOM = b"\xef\xbb\xbf"
FORMATS: Mapping[str, Format] = {".toml": TomlFormat(), ".yaml": YamlFormat(), ".yml": YamlFormat()}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file: its path, text and values.

    Attributes:
        path: where it is, whether or not it exists.
        text: what is in it; line ends of Windows are a newline alone here.
        values: what it says.
    """

    path: Path
    text: str = field(default="", repr=False)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def line(self, place: Place) -> int | None:
        """Return the line on which ``place`` is set, counted from 1."""
        known = format_of(self.path).lines(self.text) if self.text else {}
        while place and place not in known:  # A value within one that is written on one line.
            place = place[:-1]
        return known.get(place)

    def with_value(self, place: Place, value: Any) -> SettingsFile:
        """Return the file with ``value`` at ``place``, or nothing there if it is ``MISSING``.

        Raises:
            ConfigError: the file is written in a way that does not allow it.
        """
        form = format_of(self.path)
        try:
            text = change(form, self.text, place, value)
            return SettingsFile(self.path, text, form.parse(text))
        except ValueError as error:
            message = f"{self.path}: cannot change {'.'.join(place)}: {error}; edit the file"
            raise ConfigError(message) from error


def config_path() -> Path:
    """Return the path of the settings file, which need not exist.

    It is what ``MEMORANDA_CONFIG`` names; otherwise ``config.toml``, ``config.yaml`` or
    ``config.yml`` in the user's configuration folder, and the first where there is none.

    Raises:
        ConfigError: there are several.
    """
    named = os.environ.get(VARIABLE)
    if named:
        try:
            return Path(named).expanduser()
        except RuntimeError as error:  # No such user, or no home.
            raise ConfigError(f"{VARIABLE}={named!r}: {error}") from error
    folder = user_config_path("memoranda")
    present = [folder / name for name in NAMES if (folder / name).is_file()]
    if len(present) > 1:
        raise ConfigError(
            f"there are several settings files: {' and '.join(map(str, present))}; "
            f"keep one of them, or name it in {VARIABLE}"
        )
    return present[0] if present else folder / NAMES[0]


def format_of(path: Path) -> Format:
    """Return how the file at ``path`` is read.

    Raises:
        ConfigError: its name does not say.
    """
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        message = f"the settings file {path} must be named .toml, .yaml or .yml, after its format"
        raise ConfigError(message)
    return form


def read(path: Path | None = None) -> SettingsFile:
    """Return the settings file at ``path``, or at :func:`config_path`; an empty one if absent.

    Raises:
        ConfigError: it cannot be read, or says nothing that can be understood.
    """
    try:
        path = path or config_path()
        if not path.is_file():
            return SettingsFile(path)
        raw = path.read_bytes()
    except OSError as error:
        message = f"the settings file {path or ''} cannot be read: {error.strerror or error}"
        raise ConfigError(message) from error
    form = format_of(path)
    try:
        text = raw.decode("utf-8-sig")
        if _ends_lines_with_crlf(raw):
            text = text.replace("\r\n", "\n")
        return SettingsFile(path, text, form.parse(text))
    except (ValueError, RecursionError) as error:
        why = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise ConfigError(f"{path} is not valid {form.name}: {why}") from error


def rewrite(path: Path, edit: Callable[[SettingsFile], SettingsFile]) -> bool:
    """Replace the file at ``path`` by what ``edit`` makes of it, at once or not at all.

    Others wait meanwhile, so that each change is made to what the one before left. The file
    keeps its permissions, its way to end lines and, if it is a link, its place; a new one can
    be read by its owner only.

    Returns:
        Whether the file is different now.

    Raises:
        ConfigError: it cannot be read or written, or another writer does not come to an end.
    """
    from filelock import SoftFileLock, Timeout  # noqa: PLC0415 - only who writes waits for it

    format_of(path)
    target = path.resolve()
    lock = target.with_name(f"{target.name}.lock")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with SoftFileLock(lock, timeout=PATIENCE, mode=PRIVATE):
            before = read(path)
            after = edit(before)
            changed = after.text != before.text
            if changed:
                _replace(target, after.text)
    except Timeout as error:
        message = f"{target} is being written by another process; if none is, delete {lock}"
        raise ConfigError(message) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
    return changed


def _replace(target: Path, text: str) -> None:
    """Put ``text`` in the place of a file in one step, with its line ends and its mark."""
    old = target.read_bytes() if target.exists() else b""
    if _ends_lines_with_crlf(old):
        text = text.replace("\n", "\r\n")
    write_whole(target, [text.encode("utf-8-sig" if old.startswith(BOM) else "utf-8")])


def _ends_lines_with_crlf(raw: bytes) -> bool:
    return 0 < raw.count(b"\n") == raw.count(b"\r\n")
