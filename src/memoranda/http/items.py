"""An application's own values under namespaces and keys, and the context of the day."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from memoranda.http import schemas
from memoranda.http.access import ReadMemory, WriteMemory
from memoranda.http.answers import answer, record_answer
from memoranda.http.resources import Erase, IfMatch, RequestModel, example, resource
from memoranda.model.models import ForgetReceipt
from memoranda.serving.existing import require_record

router = resource("", "items")

Namespace = Annotated[list[str], Query(description="Its parts, from the widest to the narrowest.")]
Key = Annotated[str, Query(description="The name of an item in its namespace.")]
ContextKey = Annotated[str, Path(examples=["mood"])]


class NewValue(RequestModel, json_schema_extra=example(value="cheerful")):
    """A value of the day."""

    value: str


@router.get("/items", response_model=schemas.VersionedRecord)
def item(key: Key, memory: ReadMemory, namespace: Namespace = []) -> Response:  # noqa: B006
    """Show the item that is kept under exactly this namespace and key."""
    return record_answer(require_record(memory, namespace=namespace, key=key))


@router.delete("/items", response_model=ForgetReceipt)
def forget_item(
    key: Key,
    memory: WriteMemory,
    if_match: IfMatch,
    namespace: Namespace = [],  # noqa: B006
    *,
    erase: Erase = False,
) -> Response:
    """Forget the item that is kept under exactly this namespace and key."""
    done = memory.forget(namespace=namespace, key=key, erase=erase, expected_version=if_match)
    return answer(done)


@router.get("/namespaces", response_model=list[list[str]])
def namespaces(
    memory: ReadMemory,
    prefix: Namespace = [],  # noqa: B006
    depth: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """List the namespaces that have items, in order."""
    return answer(memory.namespaces(prefix, depth))


@router.get("/context/{key:path}", response_model=dict[str, str | None])
def get_context(key: ContextKey, memory: ReadMemory) -> Response:
    """Give the newest value of a key; ``null`` where there is none or its day is over."""
    return answer({"value": memory.get_context(key)})


@router.put("/context/{key:path}", response_model=schemas.VersionedRecord)
def set_context(key: ContextKey, new: NewValue, memory: WriteMemory) -> Response:
    """Keep a value under a key until the day ends in the user's time zone."""
    return record_answer(memory.set_context(key, new.value))
