"""Results as answers: the JSON that every door gives, with the version of a record as its tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memoranda.model.models import Record
from memoranda.rendering.forms import form_of, format_json

JSON = "application/json"


def answer(result: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer that holds a result."""
    return Response(format_json(result), status, headers, media_type=JSON)


def record_form(record: Record) -> Mapping[str, object]:
    """Return a record with its version, which a later change may name."""
    return {**form_of(record), "version": record.version}


def record_answer(record: Record, status: int = 200) -> Response:
    """Return the answer that holds one record."""
    return answer(record_form(record), status, {"ETag": f'"{record.version}"'})
