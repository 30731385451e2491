-- Which records have to be written to the collection `memories` again.
-- Temporary, so that none of it is recorded in the journal.
CREATE TEMP TABLE changed_records (id TEXT NOT NULL);
CREATE TEMP TRIGGER records_insert AFTER INSERT ON main.records BEGIN
    INSERT INTO changed_records VALUES (new.id);
END;
CREATE TEMP TRIGGER records_delete AFTER DELETE ON main.records BEGIN
    INSERT INTO changed_records VALUES (old.id);
END;
CREATE TEMP TRIGGER records_update AFTER UPDATE OF content, metadata, kind, agent, created_at,
    event_time, valid_until, closed_at, superseded_by, session_id, source_role, indexed
    ON main.records
WHEN (old.content, old.metadata, old.kind, old.agent, old.created_at, old.event_time,
    old.valid_until, old.closed_at, old.superseded_by, old.session_id, old.source_role, old.indexed)
    IS NOT (new.content, new.metadata, new.kind, new.agent, new.created_at, new.event_time,
    new.valid_until, new.closed_at, new.superseded_by, new.session_id, new.source_role, new.indexed)
BEGIN
    INSERT INTO changed_records VALUES (new.id);
END;
CREATE TEMP TRIGGER vectors_insert AFTER INSERT ON main.vectors BEGIN
    INSERT INTO changed_records SELECT id FROM records WHERE key = new.record_key;
END;
CREATE TEMP TRIGGER vectors_delete AFTER DELETE ON main.vectors BEGIN
    INSERT INTO changed_records SELECT id FROM records WHERE key = old.record_key;
END;
