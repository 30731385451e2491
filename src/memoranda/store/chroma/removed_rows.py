"""What Chroma's database keeps of rows that were removed or changed, and how it is overwritten.

By a SQLite that has the tokenizer of Chroma's full-text index, which Python's own may lack.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import apsw

STATEMENTS = (
    # What belonged to embeddings of collections that were dropped.
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_metadata_array WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_fulltext_search WHERE rowid NOT IN (SELECT id FROM embeddings)",
    # Writes that each segment of their collection has taken in. The last one stays, without what
    # it wrote: Chroma numbers the next write by it.
    """
    DELETE FROM embeddings_queue WHERE NOT EXISTS (
        SELECT 1 FROM segments s LEFT JOIN max_seq_id m ON m.segment_id = s.id
        WHERE s.collection = substr(topic, -36)
        AND coalesce(m.seq_id, 0) < embeddings_queue.seq_id
    ) AND seq_id < (SELECT max(seq_id) FROM embeddings_queue)
    """,
    # Names of metadata that no row has any more.
    """
    UPDATE collections SET schema_str = json_set(schema_str, '$.keys', json((
        SELECT json_group_object(k.key, json(k.value)) FROM json_each(schema_str, '$.keys') k
        WHERE k.key LIKE '#%' OR k.key IN (
            SELECT key FROM embedding_metadata UNION SELECT key FROM embedding_metadata_array
        )
    )))
    WHERE name IN (SELECT value FROM json_each(:collections))
    AND json_type(schema_str, '$.keys') = 'object'
    """,
    # Its own marks of removed rows go, and what they were of.
    "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('optimize')",
)


def overwrite(database: Path, collections: Collection[str]) -> set[str]:
    """Write a database that nobody has open without what was removed from it.

    Args:
        database: the file of Chroma's rows.
        collections: names of those whose schema may be changed.

    Returns:
        the ids of the segments that are used.

    Raises:
        apsw.Error: it cannot be written; it is as it was.
    """
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as rows:
        with rows:
            for statement in STATEMENTS:
                rows.execute(statement, {"collections": json.dumps(list(collections))})
        rows.execute("VACUUM")
        return {row[0] for row in rows.execute("SELECT id FROM segments")}
