"""Where a memory is kept: names of places, and the store that is opened there.

Stores of optional extras are imported inside functions.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_data_path

from memoranda.errors import ConfigError, MissingExtra, StoreReadOnly
from memoranda.model.ports import NameMatcher
from memoranda.store.sql.store import ForeignMemory, Store
from memoranda.store.sqlite import SqliteStore
from memoranda.text.files import make_private_folder
from memoranda.text.terms import TermAnalyzer

if TYPE_CHECKING:
    from types import ModuleType

    from memoranda.settings.settings import Settings

MEMORY = ":memory:"
FOLDER = "chroma://"
SERVER = ("postgresql://", "postgres://")
# What is no file, but an address with too few slashes.
NEARLY = ("chroma:", "postgresql:", "postgres:")
# What libpq takes beside addresses, and would be the name of a file.
KEYWORDS = ("host=", "dbname=", "password=")


def place(location: str | Path | None, settings: Settings) -> str:
    """Return where the memory is: the location, else the setting, else the user's folder.

    A path that is right from any folder, ``:memory:``, or an address.

    Raises:
        ConfigError: the location is of a kind that does not exist.
    """
    given: object = settings.location if location is None else location
    if given is None:
        return str(user_data_path("memoranda") / "memory.db")
    if not isinstance(given, str | Path) or not str(given).strip():
        raise ConfigError(f"location={given!r:.80} is not a path; use a file or :memory:")
    text = str(given)
    path = text.removeprefix(FOLDER)
    if path != text and path.strip("/ "):
        return f"{FOLDER}{_expand(path).absolute()}"
    if text == MEMORY or medium(text) == "server":
        return text
    is_address = "://" in text or text.startswith(NEARLY) or any(key in text for key in KEYWORDS)
    if isinstance(given, str) and is_address:
        # What follows may have a password.
        kind = min((text[: text.index(mark) + 1] for mark in ":=" if mark in text), key=len)
        raise ConfigError(
            f"location '{kind}…' is unknown; use a file, :memory:, "
            f"postgresql://user@host/database or chroma:///folder"
        )
    return str(_expand(text).absolute())


def _expand(path: str) -> Path:
    """Return a path with the folder of the user that it begins with.

    Raises:
        ConfigError: there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"location {path!r} cannot be used: {error}") from error


def medium(place: str) -> str:
    """Return what a :func:`place` is: a ``file``, a ``folder`` of Chroma or a ``server``."""
    if place.startswith(FOLDER):
        return "folder"
    return "server" if place.startswith(SERVER) else "file"


def file_of(place: str) -> Path | None:
    """Return the file or folder of this machine that a :func:`place` is, if it is one."""
    is_none = place == MEMORY or medium(place) == "server"
    return None if is_none else Path(place.removeprefix(FOLDER))


def open_store(location: str | Path | None, settings: Settings, names: NameMatcher) -> Store:
    """Open the store at the :func:`place` of ``location``.

    Raises:
        ConfigError: the location is of a kind that does not exist, or cannot be encrypted.
        StoreError: it cannot be opened.
    """
    path, key = place(location, settings), settings.storage.key
    if key and medium(path) != "file":
        what = path.partition("://")[0]
        raise ConfigError(
            f"storage.key encrypts an SQLite file, not {what}://; unset it, and encrypt the disk"
        )
    if path.startswith(FOLDER):
        folder = Path(path.removeprefix(FOLDER))
        opened: Store = _chroma().ChromaStore.share(folder, analyzer=TermAnalyzer(), names=names)
        return opened
    if location is None and settings.location is None:
        parent = Path(path).parent
        try:
            make_private_folder(parent)
        except OSError as error:
            remedy = "name another place with --db or MEMORANDA_LOCATION"
            message = f"the folder {parent} cannot be made: {error.strerror}; {remedy}"
            raise StoreReadOnly(message) from error
    common: dict[str, Any] = {
        "analyzer": TermAnalyzer(),
        "names": names,
        "busy_timeout": settings.storage.busy_timeout,
        "power_safe": settings.storage.durability == "power",
    }
    if path.startswith(SERVER):
        if not find_spec("psycopg_pool"):
            raise MissingExtra("a store on PostgreSQL (postgresql://)", "postgres")
        from memoranda.store.postgres import PostgresStore  # noqa: PLC0415 - extra `postgres`

        return PostgresStore(path, **common)
    return SqliteStore(path, **common, key=key.get_secret_value() if key else None)


def foreign_memories(path: Path) -> list[ForeignMemory]:
    """Return id, text and metadata of what another program keeps in a folder of Chroma.

    Raises:
        InvalidInput: the folder has no such memories.
        MissingExtra: the extra ``chroma`` is not installed.
        StoreError: the folder cannot be used.
    """
    return list(_chroma().read_foreign(path))


def _chroma() -> ModuleType:
    if not find_spec("chromadb"):
        raise MissingExtra("what is kept in Chroma (chroma://)", "chroma")
    from memoranda.store.chroma import store  # noqa: PLC0415 - extra `chroma`

    return store
