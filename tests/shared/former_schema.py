"""Databases as they were before all migrations."""

import re

from memoranda.store.sql.dialect import schema_steps

ADDED = re.compile(r"^ALTER TABLE (\w+) ADD (COLUMN \w+)", re.MULTILINE)
CREATED = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
INDEX = re.compile(r"^CREATE INDEX (\w+)", re.MULTILINE)


def take_back(raw):
    """Take back what migrations have added to the database of a connection."""
    later = "\n".join(schema_steps()[1:])
    for name in INDEX.findall(later):
        raw.execute(f"DROP INDEX {name}")
    for table, column in ADDED.findall(later):
        raw.execute(f"ALTER TABLE {table} DROP {column}")
    for table in CREATED.findall(later):
        raw.execute(f"DROP TABLE {table}")
    raw.execute("PRAGMA user_version = 1")
