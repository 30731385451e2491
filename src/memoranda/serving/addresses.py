"""Where a server listens: HOST:PORT."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from memoranda.errors import ConfigError, InvalidInput
from memoranda.text.patterns import compile_pattern

HIGHEST_PORT = 65_535
ADDRESS = compile_pattern(
    r"(?:\[(?P<six>[^\[\]]*:[^\[\]]*)\]|(?P<host>[^:\[\]]+)):(?P<port>[0-9]{1,9})"
)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """Return the address in ``HOST:PORT``; an IPv6 host stands in brackets.

        Raises:
            InvalidInput: it is of no such form.
        """
        found = ADDRESS.fullmatch(text)
        if found is None or int(found["port"]) > HIGHEST_PORT:
            message = (
                f"--http={text!r:.80} is not an address; write HOST:PORT such as 127.0.0.1:8000"
            )
            raise InvalidInput(message)
        return cls(found["six"] or found["host"], int(found["port"]))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        """The address as it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def require_tokens(address: ListenAddress, *, known: bool) -> None:
    """Refuse an address that other machines can reach while no token is known.

    Raises:
        ConfigError: it is such a one.
    """
    if not known and not address.is_local:
        raise ConfigError(
            f"--http={address} can be reached by other machines, and there is no token; make one "
            f"with memoranda token create, or listen at 127.0.0.1:{address.port}"
        )
