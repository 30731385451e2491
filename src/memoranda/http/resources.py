"""What every resource is made with: its router, and the parts that several of them share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Json

from memoranda.http.idempotency import IdempotentRoute

Id = Annotated[str, Path(description="The id of a record.", examples=["fact_01KB6W3V8Q"])]
Erase = Annotated[bool, Query(description="Remove every trace of the text for good.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]
Metadata = dict[str, Any]
PROBLEM: dict[str, Any] = {
    "description": "What went wrong.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def example(**values: Any) -> dict[str, Any]:
    """Return what a schema has beside its fields: an example for the document."""
    return {"examples": [values]}


class RequestModel(BaseModel):
    """What a request may hold, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    def given(self, *without: str) -> dict[str, Any]:
        """Return what was given, as arguments of a verb."""
        return {name: getattr(self, name) for name in self.model_fields_set.difference(without)}


class RecordFilter(RequestModel):
    """Which records are meant; see ``Memory.records``."""

    kind: str | None = None
    session: str | None = None
    namespace: list[str] | None = None
    tags: list[str] | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None


class RecordQuery(RecordFilter):
    """The same in a URL, where metadata is JSON."""

    metadata: Json[Metadata] | None = None


class DryRun(RequestModel, json_schema_extra=example(dry_run=True)):
    """How a stage runs."""

    dry_run: bool = False


def resource(path: str, tag: str) -> APIRouter:
    """Return the router of a resource, whose writes are done once for each ``Idempotency-Key``."""
    return APIRouter(
        prefix=f"/v1{path}",
        tags=[tag],
        responses={"4XX": PROBLEM, "5XX": PROBLEM},
        route_class=IdempotentRoute,
    )


def raw_body(kind: str, **about: Any) -> dict[str, Any]:
    """Return how the document tells of a body that is no JSON."""
    content = {kind: {"schema": {"type": "string"}, **about}}
    return {"requestBody": {"required": True, "content": content}}


def read_version(
    if_match: Annotated[
        str | None, Header(description="The ETag of what is to be changed.")
    ] = None,
) -> str | None:
    """Return the version that ``If-Match`` asks for; a weak one never matches."""
    return None if if_match in {None, "*"} else str(if_match).strip().strip('"')


IfMatch = Annotated[str | None, Depends(read_version)]
