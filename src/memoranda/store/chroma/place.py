"""Where a store on Chroma is: a folder of this machine, or a database of a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from memoranda.errors import ConfigError

FOLDER = "chroma://"
SERVERS = ("chroma+http://", "chroma+https://")
PORT = 8000
# Names in the path of a server's address at most: tenant and database.
DEPTH = 2
TENANT, DATABASE = "default_tenant", "default_database"
FORMS = (
    "use chroma:///folder, or chroma+http://host:port, with /database or /tenant/database behind it"
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that Chroma keeps its files in, used by one process at a time."""

    path: Path

    @property
    def database(self) -> Path:
        """The file of Chroma's rows."""
        return self.path / "chroma.sqlite3"

    @property
    def log(self) -> Path:
        """What is ahead of that file."""
        return self.path / "chroma.sqlite3-wal"

    def __str__(self) -> str:
        """The location as it is given to ``Memory``."""
        return f"{FOLDER}{self.path}"


@dataclass(frozen=True, slots=True)
class Server:
    """A database on a Chroma server, used by any number of processes.

    Attributes:
        host, port, secure: where it listens, and whether through TLS.
        tenant, database: which of its databases; a new database is made.
        token: what it asks of its clients (``Authorization: Bearer``), if anything.
    """

    host: str
    port: int = PORT
    secure: bool = False
    tenant: str = TENANT
    database: str = DATABASE
    token: str | None = None

    @property
    def address(self) -> str:
        """Where it listens, as a browser has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * self.secure}://{host}:{self.port}"

    def __str__(self) -> str:
        """The location, without the token."""
        where = f"/{self.tenant}/{self.database}"
        return f"chroma+{self.address}{where if where != f'/{TENANT}/{DATABASE}' else ''}"


Place = Folder | Server


def parse(location: str, *, token: str | None = None) -> Place:
    """Return the place that ``location`` names.

    Args:
        location: ``chroma://`` and the path of a folder, as
            :func:`memoranda.store.locations.place` returns it, ``chroma+http://host:port`` or
            ``chroma+https://…``.
        token: for a server that wants one.

    Raises:
        ConfigError: it is no address of a server.
    """
    if location.startswith(FOLDER):
        return Folder(Path(location.removeprefix(FOLDER)))
    try:
        parts = urlsplit(location)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"location {location!r} cannot be read ({error}); {FORMS}") from error
    names = [unquote(name) for name in parts.path.split("/") if name]
    secret = "@" in parts.netloc
    if secret or not parts.hostname or parts.query or parts.fragment or len(names) > DEPTH:
        hint = "; a token belongs into the setting storage.token" if secret else ""
        message = f"location {parts.scheme}://{parts.hostname or ''} cannot be read{hint}; {FORMS}"
        raise ConfigError(message)
    tenant = names[0] if len(names) > 1 else TENANT
    return Server(
        host=parts.hostname,
        port=port or PORT,
        secure=parts.scheme.endswith("https"),
        tenant=tenant,
        database=names[-1] if names else DATABASE,
        token=token,
    )
