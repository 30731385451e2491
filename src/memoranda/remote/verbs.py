"""Verbs that a server does: the request that each is, sent again where that helps, and its answer.

Problems of the server are raised as our errors.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from datetime import datetime
from functools import wraps
from inspect import signature
from string import Formatter
from types import NoneType
from typing import Any, cast, get_type_hints
from urllib.parse import quote
from uuid import uuid4

from memoranda import errors
from memoranda.aio import P, T, Verb
from memoranda.maintenance.audit import Audit
from memoranda.maintenance.facts import Fact, Provenance
from memoranda.model import checks
from memoranda.model.chat import ToolSpec
from memoranda.model.models import NewMessage
from memoranda.model.processes import follow_forks
from memoranda.records.drafts import require_one
from memoranda.settings.fields import TOKEN_VARIABLE
from memoranda.text.json_values import to_object, type_adapter

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
        self.url = checks.clean(url, "url").rstrip("/")
        self._token = token or os.environ.get(TOKEN_VARIABLE)
        if not self._token:
            remedy = f"give token= or set {TOKEN_VARIABLE}; memoranda token create makes one"
            raise errors.ConfigError(f"there is no token; {remedy}")
        self._timeout = checks.number(timeout, "timeout")
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


# What is read with arguments in a body, and may be done twice.
READS = frozenset({"/search", "/recall", "/facts/search", "/expand", "/context"})
# Arguments of which a single text is a mistake.
LISTS = frozenset({"ids", "namespace", "prefix", "stages", "tags"})
# Types of results that ``memory`` imports with what makes them.
LAZY = {each.__name__: each for each in (Audit, Fact, Provenance)}
RAISE: Any = object()


class RemotePart:
    """A part of what a server has: each of its verbs is a request below one path."""

    def __init__(
        self, connection: HttpConnection, place: str = "", limits: Mapping[str, Any] | None = None
    ) -> None:
        """Ask nothing yet.

        Args:
            connection: to the server.
            place: the path.
            limits: what is said in the address of every request.
        """
        self._connection, self._place, self._limits = connection, place, dict(limits or {})

    def _ask(
        self,
        request: str,
        given: Mapping[str, Any],
        kind: Any = None,
        *,
        part: str | None = None,
        body: bytes | None = None,
    ) -> Any:
        """Return what a server answers to a request, as a value of a type.

        Args:
            request: its method and path.
            given: the arguments: they stand in the body, or in the address where it is none.
            kind: the type; ``None`` where the answer is empty.
            part: the name of the value in the answer; the whole of it, if not given.
            body: what is sent instead of arguments, such as a file.
        """
        method, path = request.split(" ")
        values = {name: plain(value, name) for name, value in given.items()}
        query, headers = self._limits, dict[str, str]()
        if version := values.pop("expected_version", None):
            headers["If-Match"] = f'"{quote(str(version))}"'
        if method in {"GET", "DELETE"} or body is not None:
            query = query | {name: as_query(value) for name, value in values.items()}
        else:
            headers["Content-Type"] = "application/json"
            body = checks.json_text(values, "the request").encode()
        if method != "GET" and path not in READS:
            headers["Idempotency-Key"] = str(uuid4())
        answer = self._connection.ask(
            method, self._place + path, headers, params=query, content=body
        )
        return None if kind in {None, NoneType} else value_of(answer.content, kind, part)


def value_of(content: bytes | str, kind: Any, part: str | None = None) -> Any:
    """Return the value of a type that an answer, or a part of it, tells.

    Raises:
        StoreError: it tells none: the server is of another version, or no server of ours.
    """
    try:
        found = json.loads(content)
        return type_adapter(kind).validate_python(found if part is None else found[part])
    except (ValueError, TypeError, LookupError) as error:
        raise errors.StoreError(
            f"the server answered what this version cannot read: {error}"
        ) from error


def asks(
    verb: Verb[P, T],
    request: str,
    *,
    part: str | None = None,
    missing: Any = RAISE,
    item: str | None = None,
) -> Verb[P, T]:
    """Return a verb as a method of a :class:`RemotePart` that asks the server for it.

    Args:
        verb: whose arguments it takes, and whose type it returns.
        request: the method and the path, with the names of arguments in braces.
        part: the name of what it returns in the answer, as ``_ask`` takes it.
        missing: what it returns where there is no such thing; an error is raised, if not given.
        item: the path where an item is named by its key, and no record by its id.
    """
    call: Callable[..., Any] = getattr(verb, "fget", verb)
    method, path = request.split(" ")
    kind = get_type_hints(call, localns=LAZY)["return"]

    @wraps(call)
    def ask(self: RemotePart, /, *args: Any, **kwargs: Any) -> Any:
        given = arguments_of(call, args, kwargs)
        where = path
        if item is not None:
            require_one(*(given.get(name) for name in ("id", "namespace", "key")))
            where = path if "id" in given else item
        filled = {
            name: as_segment(given.pop(name), name)
            for _, name, _, _ in Formatter().parse(where)
            if name
        }
        try:
            return self._ask(f"{method} {where.format(**filled)}", given, kind, part=part)
        except errors.NotFound:
            if missing is RAISE:
                raise
            return copy(missing)

    return cast("Verb[P, T]", ask)


def arguments_of(
    verb: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name, but for those that are as if not given.

    Raises:
        InvalidInput: one of a verb that lists its own is unknown.
        TypeError: they do not fit.
    """
    signed = signature(verb)
    takes = {name: each.default for name, each in signed.parameters.items() if name != "self"}
    if hasattr(verb, "__signature__"):
        checks.refuse_unknown(kwargs, takes, f"{verb.__name__}: argument")
    given = signed.bind(None, *args, **kwargs).arguments
    return {name: given[name] for name in takes if given.get(name, takes[name]) is not takes[name]}


def as_segment(value: object, name: str) -> str:
    """Return an argument as a part of a path; dots are no way up."""
    return quote(checks.clean(value, name), safe="").replace(".", "%2E")


def as_query(value: Any) -> Any:
    """Return an argument as it stands in an address, where an object is JSON."""
    return json.dumps(value) if isinstance(value, Mapping) else value


def plain(value: Any, name: str) -> Any:
    """Return an argument as JSON has it.

    Raises:
        InvalidInput: JSON cannot hold it.
    """
    if isinstance(value, datetime):
        return checks.require_aware(value, name).isoformat()
    if isinstance(value, NewMessage | ToolSpec):
        return to_object(value)
    if isinstance(value, Mapping):
        return checks.parse_metadata(value, name)
    if isinstance(value, str) and name not in LISTS:
        return checks.storable(value, name)
    if value is None or isinstance(value, float | int):
        return value
    try:
        return [plain(each, f"a part of {name}") for each in checks.several(value, name)]
    except RecursionError:
        raise checks.too_deep(name) from None
