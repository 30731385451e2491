"""The connection to a server: what is asked of it again, and its problems as our errors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from memoranda import errors
from memoranda.model.checks import clean
from memoranda.model.processes import follow_forks

try:
    import httpx
except ImportError as missing:
    raise errors.MissingExtra("a memory on a server", "remote") from missing

VARIABLE = "MEMORANDA_TOKEN"
# The form of answers from which our values are made again.
FULL = "application/vnd.memoranda.full+json"
# Seconds before each further attempt, where the server does not say how many.
WAITS = (0.1, 0.5, 2.0)
LONGEST_WAIT = 30.0
BUSY = frozenset({429, 503})
FAILED = 500
# What a problem means that names no error of ours; of others the request or the server is wrong.
MEANING: Mapping[int, type[errors.MemorandaError]] = {
    413: errors.InvalidInput,
    429: errors.StoreBusy,
    502: errors.StoreUnreachable,
    503: errors.StoreUnreachable,
    504: errors.StoreUnreachable,
}


class Connection:
    """Asks a server, again where that can help; a write is done once, however often it is sent.

    Args:
        url: of the server, with the path below which a proxy has it.
        token: opens the memory of a user; that of the environment, if not given.
        timeout: seconds that the server may be silent.

    Raises:
        ConfigError: this is no address of a server, or there is no token.
    """

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        """Connect to nothing yet."""
        self.url = clean(url, "url").rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise errors.ConfigError(f"{url!r:.80} is no address of a server: http://HOST:PORT")
        self._token = token or os.environ.get(VARIABLE)
        if not self._token:
            remedy = "memoranda token create makes one on the server"
            raise errors.ConfigError(f"there is no token; give token= or set {VARIABLE}; {remedy}")
        self._timeout = timeout
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Connect anew in this process, which cannot share the connections of another."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": FULL}
        base = f"{self.url}/v1"
        self._client = httpx.Client(base_url=base, headers=headers, timeout=self._timeout)

    def close(self) -> None:
        """End all connections."""
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        once: bool = False,
        read: Callable[[httpx.Response], object] = httpx.Response.read,
        headers: Mapping[str, str] | None = None,
        **content: Any,
    ) -> httpx.Response:
        """Return the answer to a request.

        Args:
            method, path: what is asked.
            once: whether it is a write, which the server does once.
            read: reads the body of the answer.
            headers, content: of the request, as httpx takes them.

        Raises:
            MemorandaError: the server says what is wrong, or cannot be reached.
        """
        if self._client.is_closed:
            raise errors.StoreClosed(f"the memory of {self.url} is closed; open another one")
        key = {"Idempotency-Key": str(uuid4())} if once else {}
        waits = [*WAITS]
        while True:
            after, problem = None, errors.MemorandaError()
            try:
                with self._client.stream(
                    method, path, headers={**(headers or {}), **key}, **content
                ) as answer:
                    if answer.is_success:
                        read(answer)
                        return answer
                    answer.read()
                problem, after = problem_of(answer), answer.headers.get("retry-after")
                if after is None and answer.status_code not in BUSY:
                    raise problem
            except httpx.TimeoutException as error:
                told = f"{self.url} did not answer within {self._timeout:g} s (timeout=)"
                raise errors.StoreUnreachable(told) from error
            except httpx.TransportError as error:
                problem = errors.StoreUnreachable(f"{self.url} cannot be reached: {error}")
            if not waits:
                raise problem
            wait = waits.pop(0)
            time.sleep(min(float(after), LONGEST_WAIT) if after and after.isdecimal() else wait)


def problem_of(answer: httpx.Response) -> errors.MemorandaError:
    """Return the error of which an answer tells, as the memory of the server raised it."""
    status = answer.status_code
    kind = errors.StoreError if status >= FAILED else errors.ConfigError
    try:
        problem = dict(answer.json())
        detail = str(problem["detail"])
    except (ValueError, TypeError, KeyError):
        detail = f"{answer.url} answered {status}, and not as memoranda serve does"
        return MEANING.get(status, kind)(detail)
    named = getattr(errors, str(problem.get("error")), None)
    if not (isinstance(named, type) and issubclass(named, errors.MemorandaError)):
        named = MEANING.get(status, kind)
    more = f" (request {problem.get('request_id')})" if status >= FAILED else ""
    error = named.__new__(named, f"{detail}{more}")
    vars(error).update(problem.get("values") or {})
    return error
