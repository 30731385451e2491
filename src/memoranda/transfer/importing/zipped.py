"""An export as it comes: a ZIP archive with the conversations in it."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.transfer.formats import KNOWN, Item

CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json")
"""What they are called; large exports have several: ``conversations-000.json`` and so on."""
MOST = 4 * 1024**3
"""Bytes of a file in an archive that are still read."""


class ZippedFile:
    """The conversations in a ZIP archive, read at once for each file in it.

    Args:
        path: the archive.

    Raises:
        InvalidInput: it cannot be read, or holds no conversations.
    """

    def __init__(self, path: Path) -> None:
        """Look which files in it hold conversations."""
        self.path = path
        self._documents: dict[str, Any] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for info in sorted(archive.infolist(), key=lambda info: info.filename):
                    if CONVERSATIONS.fullmatch(PurePosixPath(info.filename).name):
                        self._documents[info.filename] = self._parsed(archive, info)
        # A damaged member raises zlib's error, an encrypted one RuntimeError.
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            message = f"{path} cannot be read ({error}); get the export again"
            raise InvalidInput(message) from error
        if not self._documents:
            message = f"{path} holds no conversations.json; it is no export of ChatGPT or Claude"
            raise InvalidInput(message)

    def items(self) -> Iterator[Item]:
        """Return the conversations, each with its place."""
        for name, document in self._documents.items():
            if not isinstance(document, list):
                yield Item(f"{self.path}, {name}", document)
                continue
            for number, value in enumerate(document, 1):
                yield Item(f"{self.path}, {name}, item {number}", value)

    def first(self) -> Item:
        """Return the first value.

        Raises:
            InvalidInput: there is none.
        """
        for item in self.items():
            return item
        message = f"{self.path} holds nothing to import; {KNOWN}"
        raise InvalidInput(message)

    def _parsed(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
        place = f"{self.path}, {info.filename}"
        if info.file_size > MOST:
            message = f"{place} has {info.file_size:,} bytes, too many to read; unpack and split it"
            raise InvalidInput(message)
        try:
            return json.loads(archive.read(info))
        except (ValueError, RecursionError, zlib.error) as error:
            message = f"{place}: not valid JSON ({error}); get the export again"
            raise InvalidInput(message) from error


def is_archive(path: Path) -> bool:
    """Whether ``path`` is a ZIP archive."""
    try:
        return zipfile.is_zipfile(path)
    except (OSError, ValueError):
        return False
