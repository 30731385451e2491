"""Prints the SQL that creates the schema on PostgreSQL with the users spread over partitions.

To run in an empty database, which the store then opens as its own: see docs/scaling.md.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from memoranda.store.postgres import DIALECT, STEPS
from memoranda.store.sql.dialect import CREATED, OWNER, schema_steps

# What Citus keeps on every machine, as it is of no user.
SHARED = ("meta", "users", "leases")
DISTRIBUTE = ";\nSELECT create_distributed_table('{table}', 'user_key')"
SHARE = ";\nSELECT create_reference_table('{table}')"
# Citus does not hand it on to its machines.
UNSAMPLED = re.compile(
    r"^ALTER TABLE \w+ ALTER COLUMN \w+ SET (?:STATISTICS 0|STORAGE EXTERNAL);\n", re.MULTILINE
)
PARTITION = """;
CREATE TABLE {table}_p{number} PARTITION OF {table}
    FOR VALUES WITH (MODULUS {count}, REMAINDER {number})"""


def spread_schema(count: int, *, citus: bool = False) -> str:
    """Return what creates the schema with every table of users spread by their key.

    Args:
        count: the partitions of each table, or its shards.
        citus: whether Citus spreads them over its machines, or PostgreSQL over partitions.
    """

    def spread(table: str, created: str) -> str:
        if OWNER not in created:
            return created + (SHARE.format(table=table) if citus and table in SHARED else "")
        if citus:
            return created + DISTRIBUTE.format(table=table)
        parts = (PARTITION.format(table=table, number=each, count=count) for each in range(count))
        return f"{created} PARTITION BY HASH ({OWNER}){''.join(parts)}"

    schema = DIALECT.whole_schema()
    schema = UNSAMPLED.sub("", schema) if citus else schema
    whole = CREATED.sub(lambda found: spread(found[1], found[0]), schema)
    numbers = f"INSERT INTO schema_steps SELECT generate_series(1, {len(schema_steps())});\n"
    shards = f"SET citus.shard_count = {count};\n" if citus else ""
    lines = f"{shards}{STEPS};\n{whole}\n{numbers}".splitlines(keepends=True)
    return "".join(line for line in lines if line.strip())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the schema as the arguments of a command line ask for it."""
    parser = ArgumentParser(
        prog="python -m memoranda.store.postgres_partitions", description=__doc__
    )
    parser.add_argument("count", type=int, help="partitions of each table, or shards")
    parser.add_argument("--citus", action="store_true", help="spread them over machines by Citus")
    given = parser.parse_args(arguments)
    if given.count < 1:
        parser.error(f"{given.count} partitions are too few; name 1 or more")
    sys.stdout.write(spread_schema(given.count, citus=given.citus))


if __name__ == "__main__":
    main()
