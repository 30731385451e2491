"""Storage back ends: SQLite, PostgreSQL and Chroma behind the port of :mod:`memoranda.model`."""
