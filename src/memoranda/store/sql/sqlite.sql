-- What only SQLite has beside schema.sql.

CREATE VIRTUAL TABLE records_fts USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = 'ascii'
);
-- Its pages are packed into those of the file: at FTS5's own size of one page each, a single
-- record's few bytes beside them make most commits write three to five pages of the index.
INSERT INTO records_fts (records_fts, rank) VALUES ('pgsz', 1000);
CREATE VIRTUAL TABLE records_terms USING fts5vocab (records_fts, instance);

-- What the planner is to assume, as nothing here ever runs ANALYZE: a user has thousands of
-- records, an id one. Without it, it would walk through all of a user's to find one by its id.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('records', 'sqlite_autoindex_records_1', '100000 1'),
    ('records', 'records_user', '100000 2000'),
    ('records', 'records_item', '20000 400 20 1 1 1'),
    ('records', 'records_kind', '100000 2000 500 250 1'),
    ('records', 'records_session', '100000 2000 50 1'),
    ('records', 'records_hash', '100000 2000 1'),
    ('records', 'records_replaced', '5000 100 1'),
    ('records', 'records_decaying', '20000 400'),
    ('records', 'records_expired', '1000 20 1'),
    ('records', 'records_noteworthy', '50000 1000 500 250 20 1 1 1'),
    ('records', 'records_noteworthy_until', '1000 20 5 1');
ANALYZE sqlite_schema;
