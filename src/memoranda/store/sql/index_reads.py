"""What ranking reads of a user's records: their rows and vectors as arrays, and their lineage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

from memoranda.model import query
from memoranda.model.models import Kind, Scope
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.reads import SqlReads
from memoranda.store.sql.rows import STORED_FLOAT, Row, dump, first_value

MODEL = "embedding_model"
DIMENSIONS = "embedding_dimensions"
# An IndexVersion, the last write that removed rows, and whether there are items.
NEWEST = """
SELECT revision, coalesce((SELECT max(r.key) FROM records r WHERE r.user_key = :user), 0),
    vector_seq, removal_revision,
    EXISTS (SELECT 1 FROM records r WHERE r.user_key = :user AND r.kind = 'item')
FROM users WHERE key = :user
"""
NOTHING_STORED = (0, 0, 0, 0, False)
# The number of each kind in an index.
KINDS = {str(kind): number for number, kind in enumerate(Kind)}
NEVER = 2**63 - 1
NO_NUMBER = -1  # of a name, where there is none
LAST = "substr(r.content, greatest(length(r.content) - 39, 1))"
ASKS = "({0} LIKE '%?%' OR {0} LIKE '%\N{FULLWIDTH QUESTION MARK}%')"
# Most texts hold no question mark at all, which is seen in a third of the time.
ENDS_ASKING = f"{ASKS.format('r.content')} AND {ASKS.format(LAST)}"
WHEN_KIND = " ".join(f"WHEN '{kind}' THEN {number}" for kind, number in KINDS.items())
# A record as ranking reads it, everything but its text: of each column its type and its SQL.
COLUMNS: dict[str, tuple[str, str]] = {
    # The store's number for it; later records have higher ones.
    "ordinal": ("i8", "r.key"),
    # Of its content, in characters and in terms.
    "length": ("f4", "length(r.content)"),
    "terms": ("f4", "r.term_count"),
    # When it happened, in milliseconds since 1970.
    "event": ("i8", "r.event_time"),
    "kind": ("i1", f"CASE r.kind {WHEN_KIND} END"),
    # What follows is read of those records alone that have it.
    # Its place in its session; without one, its ordinal.
    "position": ("i8", "CASE WHEN r.session_id IS NOT NULL THEN coalesce(r.position, 0) END"),
    # When it was recorded, if not then.
    "created": ("i8", "CASE WHEN r.created_at <> r.event_time THEN r.created_at END"),
    # The first moment after it happened, and when it stopped being believed.
    "over": ("i8", "r.event_until"),
    "until": ("i8", "r.valid_until"),
    # How far it is believed.
    "confidence": ("f4", "CASE WHEN r.confidence <> 1 THEN r.confidence END"),
    # Whether it asks: a question mark is among its last forty characters.
    "asks": ("?", f"CASE WHEN {ENDS_ASKING} THEN 1 END"),
    # These are numbers of names, or of none.
    "session": ("i4", "r.session_id"),
    # Who wrote it, and who said it.
    "agent": ("i4", "r.agent"),
    "speaker": ("i4", "r.source_role"),
    # What a fact is about, where that is known.
    "subject": ("i4", "r.subject"),
    "attribute": ("i4", "r.attribute"),
}
INDEX_ROW = [(name, kind) for name, (kind, _) in COLUMNS.items()]
NAMED = ("session", "agent", "speaker", "subject", "attribute")
NO_NAMES: query.NumberedNames = {}
SPARSE = ("position", "created", "over", "until", "confidence", "asks", *NAMED)
HAVING = '@numbers("{1}") FILTER (WHERE "{0}" IS NOT NULL)'
GATHERED = (
    (f'@listed("{name}"), ' if name in NAMED else f"{HAVING.format(name, name)}, ")
    + (HAVING.format(name, "ordinal") if name in SPARSE else "NULL")
    for name in COLUMNS
)
# All columns of many records in one row: that takes a third of the time that rows do.
INDEX_ROWS = f"""
SELECT {", ".join(GATHERED)} FROM (
    SELECT {", ".join(f'{sql} AS "{name}"' for name, (_, sql) in COLUMNS.items())} FROM records r
    WHERE r.user_key = :user AND r.key > :first AND r.key <= :last AND {{which}}
) one HAVING count(*) > 0
"""
# Records that have changed since; the last condition names an index.
REVISED = "r.revised > :revision AND r.revised > 0"
# Items have an index of their own: what an application keeps changes no ranking of memories.
MEMORIES, ITEMS = "r.kind <> 'item'", "r.kind = 'item'"
VECTORS = """
SELECT @numbers(v.record_key), @joined(v.embedding) FROM vectors v
WHERE octet_length(v.embedding) = :size AND {which} HAVING count(*) > 0
"""
NEXT_VECTORS = "v.user_key = :user AND v.seq > :seq AND v.seq <= :through"
# To look at the record of each takes half as long again: only where there are other kinds.
OF_THESE = "EXISTS (SELECT 1 FROM records r WHERE r.key = v.record_key AND {which})"
# Vectors that are read at once: what a processor's cache has room for.
AT_ONCE = 1_024
TEXTS = "SELECT r.key, r.content FROM records r WHERE r.key IN (@ints(:keys)) AND {mine}"
# Of some records.
# The sign has SQLite find vectors by their records, and not among all of the user's.
THEIR_VECTORS = "+v.user_key = :user AND v.record_key IN (@ints(:keys))"
# Those of another model are of another size, until they are made anew.
TOKENS = f"""
SELECT v.record_key, v.tokens FROM token_vectors v WHERE {THEIR_VECTORS} AND v.size = :size
    AND octet_length(v.tokens) >= v.size AND octet_length(v.tokens) % v.size = 0
"""
# Which records rest on which, and which took the place of which.
LINEAGE = (
    """
SELECT r.key, s.key FROM records r
JOIN record_sources j ON j.user_key = :user AND j.record_key = r.key
JOIN records s ON s.user_key = :user AND s.id = j.source_id
WHERE r.user_key = :user AND r.source_ids <> '[]' AND {which} ORDER BY r.key, s.key
""",
    """
SELECT r.key, s.key FROM records r JOIN records s ON s.user_key = :user AND s.id = r.superseded_by
WHERE r.user_key = :user AND r.superseded_by IS NOT NULL AND {which} ORDER BY r.key
""",
)
UNREAD = "SELECT count(*) FROM vectors v WHERE v.user_key = :user AND v.embedding = :zeros"
LINKED = """
SELECT r.key, count(DISTINCT l.entity_key) AS matched FROM entity_names n
JOIN record_entities l ON l.entity_key = n.entity_key JOIN records r ON r.key = l.record_key
WHERE {mine} AND n.user_key = :user AND l.user_key = :user AND n.folded IN (@texts(:folded))
GROUP BY r.key ORDER BY matched DESC, r.key DESC
"""
# Ordinals, and the vector of each, as it is stored.
VectorPart = tuple[query.Ordinals, query.StoredFloats]


@cache
def no_rows() -> query.IndexRows:
    """Return no records."""
    import numpy as np  # noqa: PLC0415 - it takes long to load

    return np.empty(0, INDEX_ROW)


class IndexReads(SqlReads):
    """The reads of ranking: all that came since the last time, and details of candidates."""

    def index_changes(
        self,
        scope: Scope,
        since: query.IndexVersion,
        names: query.NumberedNames = NO_NAMES,
        *,
        items: bool = False,
    ) -> query.IndexChanges:
        """Return what came after ``since``, or everything where known rows went.

        Names that have a number in ``names`` keep it.

        Vectors are float16 rows by user. Measured at 384 dimensions against a vec0 table with a
        partition for each user: 1.1 kB a record instead of 1.9 (10 users with 5,000 records) or
        32 (2,000 users with 50), and once read, a tenth of vec0's time for a search.
        """
        with self.snapshot(), self._reading(scope) as (connection, state):
            if since.revision == state.revision:
                return query.IndexChanges(since, no_rows(), no_rows())
            user = {"user": state.key}
            *newest, removal, has_items = connection.one(NEWEST, user) or NOTHING_STORED
            version = query.IndexVersion(*newest)
            reset = since.revision < removal or since.revision < 0
            start = query.IndexVersion(version.revision) if reset else since
            part = ITEMS if items else MEMORIES
            others = f" AND {OF_THESE.format(which=part)}" if items or has_items else ""
            values = {**user, "revision": start.revision}
            reader = IndexReader(connection, values, NO_NAMES if reset else names)
            rows = reader.rows(part, start.ordinal, version.ordinal)
            revised = reader.rows(f"{REVISED} AND {part}", 0, start.ordinal)
            theirs = revised["ordinal"].tolist()
            listed = (dump(theirs[at : at + AT_ONCE]) for at in range(0, len(theirs), AT_ONCE))
            known = [reader.vectors(THEIR_VECTORS, keys=keys) for keys in listed]
            seqs = range(start.vector, version.vector, AT_ONCE)
            coming = map(partial(reader.vectors, NEXT_VECTORS + others), seqs)
            # What is only said rests on nothing, so adding it changes no lineage.
            changed = reset or len(revised) or (rows["kind"] != KINDS[Kind.EPISODE]).any()
            lineage = reader.lineage(part) if changed else None
            parts = [*chain.from_iterable(chain(known, coming))]
        told = reader.names, parts, lineage, reader.model
        return query.IndexChanges(version, rows, revised, *told, reset=reset)

    def texts(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, str]:
        """Return the text of each of these records, as far as they exist."""
        return dict(self._made(scope, TEXTS, keys=dump(list(ordinals))))

    def token_vectors(self, scope: Scope, ordinals: Sequence[int], size: int) -> dict[int, bytes]:
        """Return the vectors, of a size, of the tokens of these records, of those that have any.

        A byte is a number, from -128 to 127: bytes are joined in half the time that arrays are.
        """
        return dict(self._made(scope, TOKENS, keys=dump(list(ordinals)), size=size))

    def mentioning(self, scope: Scope, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return ordinals of records that mention entities of these names; most of them first."""
        folded = dump([self.names.fold(name) for name in names])
        return self._made(scope, LINKED, folded=folded)

    def count_unread(self, scope: Scope) -> int:
        """Return how many of a user's records the model cannot read: their vectors are zeros."""
        _, dimensions = self.vector_model() or ("", 0)
        zeros = bytes(2 * dimensions)  # of float16
        return sum(self._made(scope, UNREAD, first_value, zeros=zeros))

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""
        with self._reading(None) as (connection, _):
            return vector_model(connection)


def vector_model(connection: SqlConnection) -> tuple[str, int] | None:
    """Return name and dimensions of the stored vectors' model."""
    meta: dict[str, Any] = dict(connection.all("SELECT name, value FROM meta"))
    return (meta[MODEL], int(meta[DIMENSIONS])) if MODEL in meta else None


class IndexReader:
    """Reads rows, vectors and lineage of a user's records, as ranking has them.

    Args:
        connection: where they are.
        values: the parameters of the conditions that choose records, ``user`` among them.
        names: the numbers of names that are known.

    Attributes:
        names: the same, with those of the names that were read.
    """

    def __init__(
        self, connection: SqlConnection, values: Mapping[str, Any], names: query.NumberedNames
    ) -> None:
        """Read nothing yet."""
        self.model = vector_model(connection)
        self._dimensions = self.model[1] if self.model else 0
        # A vector's numbers are float16.
        self._connection, self._values = connection, {**values, "size": 2 * self._dimensions}
        self.names = {column: dict(names.get(column, ())) for column in NAMED}

    def rows(self, which: str, first: int, last: int) -> query.IndexRows:
        """Return the records after ``first``, through ``last``, that a condition chooses."""
        if first >= last:
            return no_rows()
        given = {**self._values, "first": first, "last": last}
        found = self._connection.made(self._gathered, INDEX_ROWS.format(which=which), given)
        return found[0] if found else no_rows()

    def _gathered(self, row: Row) -> query.IndexRows:
        """Return what ``INDEX_ROWS`` found as an array, in order."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        ordinals = np.fromstring(row[0], np.int64, sep=",")
        made, places = np.zeros(len(ordinals), INDEX_ROW), np.argsort(np.argsort(ordinals))
        made["position"], made["until"], made["confidence"] = np.sort(ordinals), NEVER, 1
        for name, text, keys in zip(COLUMNS, row[::2], row[1::2], strict=True):
            if name in NAMED:
                known, made[name] = self.names[name], NO_NUMBER
                listed = json.loads(text or "[]")
                column: Any = [known.setdefault(each, len(known)) for each in listed]
            else:
                # Whole numbers are read much faster.
                column = np.fromstring(text or "", float if name == "confidence" else int, sep=",")
            if name in {"created", "over"}:
                made[name] = made["event"] + (name == "over")
            if name in SPARSE:
                places = np.searchsorted(made["ordinal"], np.fromstring(keys or "", int, sep=","))
            made[name][places] = column
        return made

    def vectors(self, which: str, seq: int = 0, keys: str = "[]") -> list[VectorPart]:
        """Return records that a condition chooses with their vectors, in one part or none.

        Without those of another length than the model's.
        """
        import numpy as np  # noqa: PLC0415 - it takes long to load

        given = {**self._values, "seq": seq, "through": seq + AT_ONCE, "keys": keys}
        return [
            (
                np.fromstring(ordinals, np.int64, sep=","),
                np.frombuffer(blob, STORED_FLOAT).reshape(-1, self._dimensions),
            )
            for ordinals, blob in self._connection.all(VECTORS.format(which=which), given)
        ]

    def lineage(self, which: str) -> query.Lineage:
        """Return what records that a condition chooses rest on, and what took their places."""
        return query.Lineage(
            *(self._connection.all(sql.format(which=which), self._values) for sql in LINEAGE)
        )
