"""What goes wrong, as problem details (RFC 9457): messages name the value and the remedy."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from memoranda import errors
from memoranda.http.access import is_full_form, require_token
from memoranda.transfer.sources import FileFormat

log = logging.getLogger("memoranda.http")
# The status of each error, and of those below it.
STATUS: Mapping[type[errors.MemorandaError], int] = {
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.UserDeleted: 410,
    errors.InvalidInput: 422,
    errors.BudgetTooSmall: 422,
    errors.MissingExtra: 501,
    errors.EmbeddingError: 502,
    errors.LLMError: 502,
    errors.StoreBusy: 503,
    errors.StoreUnreachable: 503,
    errors.StoreClosed: 503,
    errors.StoreFull: 507,
}
# What a client can do something about; of all else the log of the server tells.
ABOUT_REQUEST = 499
# What the command line advises, and what there is in its place here.
ADVICE: Mapping[str, str] = {
    "memoranda list shows those there are; another --user or --db may have it": (
        "GET /v1/records lists those there are"
    ),
    "memoranda show ": "GET /v1/records/",
    "memoranda entities lists": "GET /v1/entities lists",
    "memoranda conversations lists": "GET /v1/sessions lists",
    "memoranda token list shows": "GET /v1/admin/tokens lists",
    "memoranda import --help lists what can be read": f"give its format: {', '.join(FileFormat)}",
}
AGAIN = "the memory cannot do this now; try again later"
FAILED = "the memory failed; what went wrong is in the log of the server"
RETRY_AFTER = 2  # seconds


class FieldProblem(BaseModel):
    """What is wrong with a field of a request."""

    field: str
    message: str


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str
    error: str | None = None
    values: dict[str, Any] | None = None
    errors: list[FieldProblem] | None = None


def problem_answer(
    request: Request,
    status: int,
    detail: str,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return the answer that tells of a problem."""
    told = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        request_id=request.state.request_id,
        **more,
    )
    return JSONResponse(
        told.model_dump(exclude_none=True), status, headers, media_type="application/problem+json"
    )


def add_problem_handlers(app: FastAPI) -> None:
    """Let an application answer whatever goes wrong with problem details."""
    app.add_exception_handler(errors.MemorandaError, _memory_problem)
    app.add_exception_handler(RequestValidationError, _field_problem)
    app.add_exception_handler(HTTPException, _http_problem)


def field_problems(found: Iterable[Mapping[str, Any]]) -> list[FieldProblem]:
    """Return what pydantic found wrong, field by field, without the values."""
    return [
        FieldProblem(field=".".join(map(str, each["loc"])) or "body", message=each["msg"])
        for each in found
    ]


def status_of(error: Exception) -> int:
    """Return the status that tells of an error."""
    return next((STATUS[each] for each in type(error).__mro__ if each in STATUS), 500)


async def _memory_problem(request: Request, error: Exception) -> Response:
    status, values = status_of(error), vars(error) or None
    if isinstance(error, errors.Conflict) and "if-match" in request.headers:
        status = 412
    detail, headers = str(error), None
    # A client that raises the error again gets its own words.
    for advice, here in () if is_full_form(request) else ADVICE.items():
        detail = detail.replace(advice, here)
    if status > ABOUT_REQUEST:
        log.error("%s failed: %s", request.state.request_id, type(error).__name__)
        headers = (
            {"Retry-After": str(RETRY_AFTER)} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
        )
        detail, values = AGAIN if headers else FAILED, None
    return problem_answer(
        request, status, detail, headers, error=type(error).__name__, values=values
    )


async def _field_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the type checker
    wrong = field_problems(map(_within, error.errors()))
    detail = "; ".join(f"{each.field}: {each.message}" for each in wrong)
    return problem_answer(request, 422, detail, error="InvalidInput", errors=wrong)


def _within(wrong: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is wrong with the place inside of body, query or headers; of no JSON, where."""
    first, *rest = wrong["loc"]
    if wrong["type"] == "json_invalid":
        told = f"not valid JSON at character {rest[0] + 1} ({wrong['ctx']['error']}); correct it"
        return {"loc": (first,), "msg": told}
    if not rest and wrong["type"] == "model_attributes_type":
        told = "send a JSON object, with the header Content-Type: application/json"
        return {"loc": (first,), "msg": told}
    return {**wrong, "loc": rest or (first,)}


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker
    if error.status_code in {404, 405}:
        try:
            require_token(request)
        except HTTPException as refusal:
            error = refusal
    detail = str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND and detail == HTTPStatus.NOT_FOUND.phrase:
        detail = f"there is no {request.method} {request.url.path}; see /openapi.json"
    return problem_answer(request, error.status_code, detail, error.headers)
