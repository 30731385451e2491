"""The files of the local embedding model, for those who look after a machine."""

from __future__ import annotations

from pathlib import Path

from memoranda.model.ports import Progress
from memoranda.providers.embedding import files
from memoranda.settings.settings import Settings


def pull(
    settings: Settings, *, base_url: str | None = None, progress: Progress | None = None
) -> Path:
    """Download the files of the local model that are not there yet; return their folder.

    Args:
        settings: ``embedding.folder`` is where they go; otherwise the user's data folder.
        base_url: what the names of the files are appended to; the publisher's, if not given.
        progress: told the bytes that are there, of all bytes.

    Raises:
        InvalidInput: ``base_url`` is neither http nor https.
        ModelUnavailable: they cannot be downloaded, or are not genuine.
    """
    return files.pull(settings.embedding.folder, base_url or files.BASE_URL, progress)
