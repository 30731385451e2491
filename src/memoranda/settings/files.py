"""The settings file: which it is, what it says, and how it is written again.

A writer makes ``config.toml.lock`` beside the file, which nobody else then can, writes the new
text into it and renames it onto the file. So nobody reads half a file, two writers never undo
each other's change, and a writer that is killed leaves the file as it was.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from platformdirs import user_config_path

from memoranda.errors import ConfigError
from memoranda.settings import toml_text, yaml_text
from memoranda.settings.places import Place

VARIABLE = "MEMORANDA_CONFIG"
NAMES = ("config.toml", "config.yaml", "config.yml")
PATIENCE = 10.0
"""Seconds to wait for another writer, who needs a fraction of one."""
PAUSE = 0.02
PRIVATE = 0o600


class Format(Protocol):
    """How a kind of file is read and changed; a value is found by its place."""

    NAME: str

    def parse(self, text: str) -> dict[str, Any]:
        """Return what ``text`` says, or raise ValueError."""

    def lines(self, text: str) -> dict[Place, int]:
        """Return the line, counted from 1, of each place."""

    def stored(self, value: Any) -> Any:
        """Return what ``parse`` gives for ``value``."""

    def put(self, text: str, place: Place, value: Any) -> str:
        """Return ``text`` with ``value`` at ``place``, or raise ValueError."""

    def drop(self, text: str, place: Place) -> str:
        """Return ``text`` without what is at ``place``, or raise ValueError."""


FORMATS: Mapping[str, Format] = {".toml": toml_text, ".yaml": yaml_text, ".yml": yaml_text}


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file as it was read, or would be.

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
        if not self.text:
            return None
        known = format_of(self.path).lines(self.text)
        while place and place not in known:  # A value within one that is written on one line.
            place = place[:-1]
        return known.get(place)

    def with_value(self, place: Place, value: Any) -> SettingsFile:
        """Return the file with ``value`` at ``place``, its other lines as they are.

        Raises:
            ConfigError: the file is written in a way that does not allow it.
        """
        return self._changed(place, lambda form: form.put(self.text, place, value))

    def without(self, place: Place) -> SettingsFile:
        """Return the file without what is at ``place``, its other lines as they are.

        Raises:
            ConfigError: the file is written in a way that does not allow it.
        """
        return self._changed(place, lambda form: form.drop(self.text, place))

    def _changed(self, place: Place, change: Callable[[Format], str]) -> SettingsFile:
        form = format_of(self.path)
        try:
            text = change(form)
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
    there = [folder / name for name in NAMES if (folder / name).is_file()]
    if len(there) > 1:
        message = (
            f"there are several settings files: {' and '.join(map(str, there))}; "
            f"keep one of them, or name it in {VARIABLE}"
        )
        raise ConfigError(message)
    return there[0] if there else folder / NAMES[0]


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
        raise ConfigError(f"{path} is not valid {form.NAME}: {why}") from error


def rewrite(path: Path, change: Callable[[SettingsFile], SettingsFile]) -> bool:
    """Replace the file at ``path`` by what ``change`` makes of it, at once or not at all.

    Others wait meanwhile, so that each change is made to what the one before left. The file
    keeps its permissions, its way to end lines and, if it is a link, its place; a new one can
    be read by its owner only.

    Returns:
        Whether the file is different now.

    Raises:
        ConfigError: it cannot be read or written, or another writer does not come to an end.
    """
    format_of(path)
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(target)
        try:
            before = read(path)
            after = change(before)
            changed = after.text != before.text
            if changed:
                _write(lock, _encoded(after.text, target), target)
                lock.replace(target)
            else:
                lock.unlink()
        except BaseException:
            lock.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
    return changed


def _lock(target: Path) -> Path:
    lock = target.with_name(f"{target.name}.lock")
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        except FileExistsError as error:
            if time.monotonic() > deadline:
                message = f"{target} is being written by another process; if none is, delete {lock}"
                raise ConfigError(message) from error
            time.sleep(PAUSE)
        else:
            return lock


def _write(lock: Path, content: bytes, target: Path) -> None:
    with lock.open("rb+") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    if target.exists():
        lock.chmod(stat.S_IMODE(target.stat().st_mode))


def _encoded(text: str, target: Path) -> bytes:
    old = target.read_bytes() if target.exists() else b""
    if _ends_lines_with_crlf(old):
        text = text.replace("\n", "\r\n")
    return text.encode("utf-8-sig" if old.startswith(b"\xef\xbb\xbf") else "utf-8")


def _ends_lines_with_crlf(raw: bytes) -> bool:
    return 0 < raw.count(b"\n") == raw.count(b"\r\n")
