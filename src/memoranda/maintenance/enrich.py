"""Enrichment: names are extracted again at night, by providers too slow for each message.

Records with few entities are read once by the accurate providers and stamped, also where these
found nothing: no record is read a third time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from memoranda.errors import MemorandaError
from memoranda.model.actions import Enrich
from memoranda.model.models import Kind, Mention, Record

log = logging.getLogger("memoranda.enrich")

KINDS: Final = (Kind.FACT, Kind.EPISODE)
"""What is enriched."""
MOST: Final = 2
"""Entities that a record has at most to be read again."""
LIMIT: Final = 50
"""Records of one run."""
STAMP: Final = "enriched_at"
"""The attribute that says when a record was read again."""
UNAVAILABLE: Final = "no accurate provider of names is set up (spacy or llm)"

Extract = Callable[[str], Sequence[Mention]]
"""Reads the names in a text with the accurate strategy."""


@dataclass(frozen=True, slots=True)
class Enrichment:
    """The links to entities that the second extraction adds.

    Attributes:
        actions: one for each record that was read.
        failed: record → why it could not be read; it is tried again next time.
    """

    actions: tuple[Enrich, ...] = ()
    failed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def plan(records: Iterable[Record], extract: Extract, now: datetime) -> Enrichment:
    """Plan what names records are linked to as well, by reading them again.

    Args:
        records: what was never enriched and has few entities (``LifeStore.unenriched`` with
            :data:`KINDS`, :data:`MOST` and :data:`LIMIT`). Others are passed over.
        extract: reads a text; may be slow. Where it raises, its record is not stamped, and so
            is read another night.
        now: the present.
    """
    actions: list[Enrich] = []
    failed: dict[str, str] = {}
    for record in records:
        if record.kind not in KINDS or STAMP in record.attributes:
            continue
        try:
            mentions = tuple(extract(record.content))
        except MemorandaError as error:
            failed[record.id] = str(error)
        except Exception as error:
            log.exception("the names in %s could not be read", record.id)
            failed[record.id] = f"{type(error).__name__}: {error}"
        else:
            actions.append(Enrich(record.id, now, mentions))
    return Enrichment(tuple(actions), MappingProxyType(failed))
