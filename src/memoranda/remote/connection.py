"""The connection to a server: what is asked of it again, and its problems as our errors."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from memoranda import errors
from memoranda.model.checks import clean, number
from memoranda.model.processes import follow_forks
from memoranda.settings.fields import TOKEN_VARIABLE

try:
    import httpx
except ImportError as missing:
    raise errors.MissingExtra("a memory on a server", "remote") from missing

# The form of answers from which our values are made again.
FULL = "application/vnd.memoranda.full+json"
# Seconds before each further attempt, where the server does not say how many.
WAITS = (0.1, 0.5, 2.0)
LONGEST_WAIT = 30.0
FAILED = 500
# What a problem means that names no error of ours; of others the request or the server is wrong.
MEANING: Mapping[int, type[errors.MemorandaError]] = {
    413: errors.InvalidInput,
    **dict.fromkeys((409, 429), errors.StoreBusy),
    **dict.fromkeys((502, 503, 504), errors.StoreUnreachable),
}


class HttpConnection:
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
        self._token = token or os.environ.get(TOKEN_VARIABLE)
        if not self._token:
            remedy = f"give token= or set {TOKEN_VARIABLE}; memoranda token create makes one"
            raise errors.ConfigError(f"there is no token; {remedy}")
        self._timeout = number(timeout, "timeout")
        try:
            self.after_fork()
            address = self._client.base_url
            is_sendable = address.scheme in {"http", "https"} and bool(address.host)
        except (httpx.InvalidURL, UnicodeError):
            is_sendable = False
        if not is_sendable:
            told = f"{self.url:.80} is no address of a server, or its token is cut off"
            raise errors.ConfigError(f"{told}; write http://HOST:PORT")
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
        headers: Mapping[str, str],
        *,
        read: Callable[[httpx.Response], object] = httpx.Response.read,
        **content: Any,
    ) -> httpx.Response:
        """Return the answer to a request, which is sent again where that can help.

        Args:
            method, path: what is asked.
            headers: of the request; a write has a key, under which the server does it once.
            read: reads the body of the answer.
            content: query and body, as httpx takes them.

        Raises:
            MemorandaError: the server says what is wrong, or cannot be reached.
        """
        if self._client.is_closed:
            raise errors.StoreClosed(f"the memory of {self.url} is closed; open another one")
        waits = [*WAITS]
        while True:
            after = None
            try:
                with self._client.stream(method, path, headers=headers, **content) as answer:
                    if answer.is_success:
                        read(answer)
                        return answer
                    answer.read()
                problem, after = problem_of(answer), answer.headers.get("retry-after")
                if after is None:
                    raise problem
            except httpx.TimeoutException as error:
                told = f"{self.url} did not answer within {self._timeout} s; give another timeout"
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
    try:
        problem = dict(answer.json())
    except ValueError:
        problem = {"detail": f"{answer.url} answered {status}, and not as memoranda serve does"}
    detail, request = str(problem.get("detail")), problem.get("request_id")
    unknown = errors.StoreError if status >= FAILED else errors.ConfigError
    kind = getattr(errors, str(problem.get("error")), None) or MEANING.get(status, unknown)
    told = f"{detail} (request {request})" if status >= FAILED else detail
    error: errors.MemorandaError = kind.__new__(kind, told)
    vars(error).update(problem.get("values") or {})
    return error
