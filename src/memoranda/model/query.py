"""The query types of a store: filters, term matches and index changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

from memoranda.errors import InvalidInput
from memoranda.model.checks import EPOCH, parse_metadata
from memoranda.model.models import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Shape ``(dimensions,)``, unit length.
Vector: TypeAlias = "npt.NDArray[np.float32]"

# Shape ``(rows, dimensions)``, rows of unit length.
Vectors: TypeAlias = "npt.NDArray[np.float32]"

# Shape ``(rows, dimensions)``, float16: as a store keeps vectors.
StoredFloats: TypeAlias = "npt.NDArray[np.float16]"

# Shape ``(tokens, dimensions)``, whole numbers; rows of about the same length.
TokenVectors: TypeAlias = "npt.NDArray[np.int8]"

# Shape ``(records,)``: the numbers that a store has for records.
Ordinals: TypeAlias = "npt.NDArray[np.int64]"

# Shape ``(records,)``: records as ranking reads them.
IndexRows: TypeAlias = "npt.NDArray[np.void]"

# The number of each name in a column of names.
NumberedNames: TypeAlias = Mapping[str, Mapping[str, int]]


# The operators that compare by order, as SQL and Python write them.
ORDERED = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
OPERATORS = (*ORDERED, "ne", "in")
# What others call operators, which would be taken for objects that a value is to equal.
FOREIGN = ("eq", "nin")


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """What a model says of a text: its vector, and one for each of its telling tokens.

    Attributes:
        vector: of the whole text.
        tokens: of its tokens in order; ``None`` from a model that gives none.
        spans: where each of those stands in the text, from and to, in characters.
    """

    vector: Vector
    tokens: TokenVectors | None = None
    spans: Sequence[tuple[int, int]] = ()


# The key of a value in metadata, one of ``OPERATORS`` or ``eq``, and what it is compared with
# (a list for ``in``).
MetadataCondition: TypeAlias = tuple[str, str, Any]


# More than anybody asks for, and within what a statement may hold.
MOST_CONDITIONS = 200


def metadata_conditions(metadata: Mapping[str, Any]) -> Iterator[MetadataCondition]:
    """Yield the conditions of a metadata filter: a value to equal, or operators with values."""
    for name, value in metadata.items():
        if isinstance(value, Mapping) and any(key in OPERATORS for key in value):
            yield from ((name, operator, wanted) for operator, wanted in value.items())
        else:
            yield name, "eq", value


def parse_metadata_filter(metadata: object) -> Mapping[str, Any]:
    """Return a copy of a metadata filter whose operators are known and have values they can take.

    Raises:
        InvalidInput: it is no plain JSON, has too many conditions, or an operator is unknown or
            cannot take its value.
    """
    parsed = parse_metadata(metadata)
    conditions = [*metadata_conditions(parsed)]
    if len(conditions) > MOST_CONDITIONS:
        raise InvalidInput(f"metadata has more than {MOST_CONDITIONS} conditions; ask for fewer")
    for name, value in parsed.items():
        keys = [*value] if isinstance(value, dict) else []
        unknown = [key for key in keys if key not in OPERATORS]
        # An object without any operator is one that a value is to equal.
        if unknown and any(key in (*OPERATORS, *FOREIGN) or key.startswith("$") for key in keys):
            raise InvalidInput(
                f"metadata[{name!r}] has an unknown operator {unknown[0]!r} (the operators are "
                f"{', '.join(OPERATORS)}; an object to be equal to is written {{'in': [{{…}}]}})"
            )
    for name, operator, wanted in conditions:
        place = f"metadata[{name!r}][{operator!r}]={wanted!r:.80}"
        if operator == "in" and not isinstance(wanted, list):
            raise InvalidInput(f"{place} must be a list of values")
        ordered = isinstance(wanted, int | float | str) and not isinstance(wanted, bool)
        if operator in ORDERED and not ordered:
            raise InvalidInput(f"{place} must be a number or a text")
    return parsed


class Subset(StrEnum):
    """Records that a stage asks for, by what the store knows of them beside their fields.

    - standing: neither forgotten nor replaced; it may have ended by itself.
    - ended: its validity ended by itself, and it was not retired yet.
    - over: its validity ended, by itself or by somebody, and nothing took its place.
    - decaying: facts that have a decay rate and were not retired.
    - unenriched: never enriched, and not retired (requirement S4.12).
    - noteworthy: facts that nothing took the place of and whose trust is not external.
    - proposed: facts that were learned, and wait for a person's approval.
    - learned: facts that were drawn from what was said, and that nothing took the place of.
    """

    STANDING = "standing"
    ENDED = "ended"
    OVER = "over"
    DECAYING = "decaying"
    UNENRICHED = "unenriched"
    NOTEWORTHY = "noteworthy"
    PROPOSED = "proposed"
    LEARNED = "learned"


class Order(StrEnum):
    """The orders in which a store gives records.

    - recorded: as they were stored.
    - latest: the one stored last first.
    - newest: by ``created_at``, the newest first: an import may have stored it before others.
    - happened: by ``event_time``, the newest first.
    - position: by their places in a session.
    - recalled: those of ``Filter.recalled_in``, the last recalled first.
    - noteworthy: what a person stands behind, then what never fades, is believed most, is newest.
    """

    RECORDED = "recorded"
    LATEST = "latest"
    NEWEST = "newest"
    HAPPENED = "happened"
    POSITION = "position"
    RECALLED = "recalled"
    NOTEWORTHY = "noteworthy"


class RecordRelation(StrEnum):
    """How records are bound to others (see ``Store.related``).

    - versions: it is of the same chain of corrections: what one of them replaced, or what
      replaced that.
    - derived: it was derived from one of them, directly or through others. Not what a person
      asked to remember (origin ``api``): that stands on its own word.
    - replaced: one took the place of the other, as a correction or a later word, directly or not.
    - former: one of them took its place so.
    """

    VERSIONS = "versions"
    DERIVED = "derived"
    REPLACED = "replaced"
    FORMER = "former"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records count. The scope is never part of it: it is always given apart.

    Attributes:
        now: the moment of asking; records whose validity has ended are left out.
        as_of: instead, what was believed at that moment.
        retired: also those whose validity has ended.
        kinds: only these kinds; empty is every kind of memory, or items, with a namespace.
        namespace: only items in this namespace or below it.
        key: only the item of this key, exactly in ``namespace``.
        session: only records of this session.
        exclude_session: none of this session.
        tags: records that carry all of these tags.
        metadata: records whose metadata meet all of these (see :func:`metadata_conditions`).
        since: happened at or after, or was not over by then.
        until: happened before.
        recorded_since: recorded at or after.
        recorded_before: recorded before.
        subset: only those that a stage asks for.
        hashes: their content has one of these hashes.
        citing: they name one of these records as a source, also one they were only credited with.
        beyond: their position in the session is greater.
        recalled_in: they were recalled into this conversation.
        entity: they mention the entity with this id.
        most_entities: they mention at most so many entities.
        attribute: facts of this attribute.
        subject: facts with an attribute of this subject.
        waiting: they are queued for this work, ``VECTORS`` or ``ENTITIES``.
    """

    now: datetime
    as_of: datetime | None = None
    retired: bool = False
    kinds: tuple[Kind, ...] = ()
    namespace: tuple[str, ...] | None = None
    key: str | None = None
    session: str | None = None
    exclude_session: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    recorded_since: datetime | None = None
    recorded_before: datetime | None = None
    subset: Subset | None = None
    hashes: Sequence[str] | None = None
    citing: Sequence[str] | None = None
    beyond: int | None = None
    recalled_in: str | None = None
    entity: str | None = None
    most_entities: int | None = None
    attribute: str | None = None
    subject: str | None = None
    waiting: str | None = None

    @classmethod
    def at_any_time(cls, **conditions: Any) -> Filter:
        """Return a filter that asks of no record whether it is still believed."""
        return cls(now=EPOCH, retired=True, **conditions)


class MessageRange(TypedDict, total=False):
    """Which messages of a transcript are wanted: all since the last ``clear``, or fewer or more.

    Attributes:
        last: the last so many.
        after: those whose position is greater.
        cleared: also those left behind by ``clear``.
        pinned: of all these only those that are pinned.
    """

    last: int
    after: int
    cleared: bool
    pinned: bool


class Postings(NamedTuple):
    """Which records hold a term.

    Attributes:
        keys: the records, ascending.
        times: how often each holds it.
    """

    keys: Ordinals
    times: Ordinals


@dataclass(frozen=True, slots=True, order=True)
class IndexVersion:
    """The version up to which a reader knows the index; the older is the lesser.

    Attributes:
        revision: the number of the user's last write that was read.
        ordinal: the last record read.
        vector: the number of the last vector read.
    """

    revision: int = -1
    ordinal: int = 0
    vector: int = 0


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which records are sources of which, and which superseded which, by ordinals.

    Attributes:
        sources: pairs (fact, a record that it was drawn from).
        replaced: pairs (record, the record that took its place).
    """

    sources: Sequence[tuple[int, int]] = ()
    replaced: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class IndexChanges:
    """The changes of a user's records since the version that a reader knows.

    Attributes:
        version: where it will be then.
        rows: records that came, of the type ``INDEX_ROW``.
        revised: known records that ended, or changed otherwise; the vectors known of these are
            forgotten, as those that they still have come again.
        names: the numbers of the names in these, and of those known before, by column.
        vectors: records whose vectors came, and these, float16 of shape (records, dimensions), in
            parts.
        lineage: of all records that there are; ``None`` where it is as it was before.
        model: name and dimensions of the model of all vectors.
        reset: whether to forget what is known first: these are all rows there are.
    """

    version: IndexVersion
    rows: IndexRows
    revised: IndexRows
    names: NumberedNames = field(default_factory=dict)
    vectors: Iterable[tuple[Ordinals, StoredFloats]] = ()
    lineage: Lineage | None = None
    model: tuple[str, int] | None = None
    reset: bool = False
