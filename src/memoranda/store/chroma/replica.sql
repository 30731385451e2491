-- What only a replica has, beside the schema of all stores.

-- The terms of each record, recorded like all rows: they make the full-text index as they come and
-- go.
CREATE TABLE record_terms (
    record_key  INTEGER PRIMARY KEY
        REFERENCES records(key) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    terms       TEXT NOT NULL
);
-- The terms may be written before their record.
CREATE TRIGGER records_terms AFTER INSERT ON records BEGIN
    INSERT INTO records_fts (rowid, terms) SELECT record_key, CASE terms WHEN '' THEN ''
            ELSE new.user_key || 'q' || replace(terms, ' ', ' ' || new.user_key || 'q') END
        FROM record_terms WHERE record_key = new.key;
END;
CREATE TRIGGER terms_insert AFTER INSERT ON record_terms BEGIN
    INSERT INTO records_fts (rowid, terms) SELECT key, CASE new.terms WHEN '' THEN ''
            ELSE user_key || 'q' || replace(new.terms, ' ', ' ' || user_key || 'q') END
        FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER terms_update AFTER UPDATE ON record_terms BEGIN
    DELETE FROM records_fts WHERE rowid = new.record_key;
    INSERT INTO records_fts (rowid, terms) SELECT key, CASE new.terms WHEN '' THEN ''
            ELSE user_key || 'q' || replace(new.terms, ' ', ' ' || user_key || 'q') END
        FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER terms_delete AFTER DELETE ON record_terms BEGIN
    DELETE FROM records_fts WHERE rowid = old.record_key;
END;

-- Which records have changed in what the collection of the memories tells of them, and how: see
-- MirrorChange. 1 is changed, 2 is new, 3 is replaced or gone.
CREATE TABLE touched (id TEXT NOT NULL, how INTEGER NOT NULL);
CREATE TRIGGER records_insert AFTER INSERT ON records BEGIN
    INSERT INTO touched VALUES (new.id, 2);
END;
CREATE TRIGGER records_delete AFTER DELETE ON records BEGIN
    INSERT INTO touched VALUES (old.id, 3);
END;
-- A change in the collection would leave the metadata there that are here no longer.
CREATE TRIGGER records_content AFTER UPDATE OF content, metadata ON records
WHEN (old.content, old.metadata) IS NOT (new.content, new.metadata) BEGIN
    INSERT INTO touched VALUES (new.id, 3);
END;
CREATE TRIGGER records_metadata AFTER UPDATE OF kind, agent, created_at, valid_until, closed_at,
    superseded_by, session_id, indexed ON records
WHEN (old.kind, old.agent, old.created_at, old.valid_until, old.closed_at, old.superseded_by,
    old.session_id, old.indexed) IS NOT (new.kind, new.agent, new.created_at, new.valid_until,
    new.closed_at, new.superseded_by, new.session_id, new.indexed)
BEGIN
    INSERT INTO touched VALUES (new.id, 1);
END;
CREATE TRIGGER vectors_insert AFTER INSERT ON vectors BEGIN
    INSERT INTO touched SELECT id, 3 FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER vectors_update AFTER UPDATE ON vectors BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER vectors_delete AFTER DELETE ON vectors BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = old.record_key;
END;
CREATE TRIGGER links_insert AFTER INSERT ON record_entities BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER links_update AFTER UPDATE ON record_entities BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER links_delete AFTER DELETE ON record_entities BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = old.record_key;
END;
CREATE TRIGGER queue_insert AFTER INSERT ON derivations BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = new.record_key;
END;
CREATE TRIGGER queue_delete AFTER DELETE ON derivations BEGIN
    INSERT INTO touched SELECT id, 1 FROM records WHERE key = old.record_key;
END;
