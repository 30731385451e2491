"""Results as answers: the JSON that every door gives, with the version of a record as its tag.

A client that makes our values of them again, as ``memoranda.Remote`` does, asks for the full form.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memoranda.model.models import Record
from memoranda.rendering.forms import ResultForm, form_of, format_json, full_form_of

# What a client accepts that wants all fields of results, each as it is.
FULL = "application/vnd.memoranda.full+json"
# The form that the present request asked for.
asked_form: ContextVar[ResultForm] = ContextVar("asked_form", default=form_of)


def choose_form(request: Request) -> None:
    """Give results in the form that a request asks for, until its answer is made."""
    is_full = FULL in request.headers.get("accept", "")
    asked_form.set(full_form_of if is_full else form_of)


def answer(result: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer that holds a result."""
    return Response(format_json(result, form=asked_form.get()), status, headers, "application/json")


def record_form(record: Record) -> Mapping[str, object]:
    """Return a record with its version, which a later change may name."""
    return {**asked_form.get()(record), "version": record.version}


def record_answer(record: Record, status: int = 200) -> Response:
    """Return the answer that holds one record."""
    form = record_form(record)
    return answer(form, status, {"ETag": f'"{form["version"]}"'})
