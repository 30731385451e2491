"""The default store: one SQLite file in WAL mode, through apsw's own SQLite.

Records, transcripts, full-text index, vectors, entities and history live in that
file; several threads and processes may read and write it at the same time.
"""
