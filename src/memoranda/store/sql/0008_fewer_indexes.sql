-- Indexes that every new fact had to be entered in, and that saved little where they were read: the
-- records of a user are found by their keys, and those of the rarer kinds by an index of their own.
DROP INDEX IF EXISTS records_kind;
DROP INDEX IF EXISTS records_noteworthy;
DROP INDEX IF EXISTS records_noteworthy_until;
DROP INDEX IF EXISTS records_decaying;
CREATE INDEX records_rare ON records (user_key, kind)
    WHERE kind = 'context' OR kind = 'reflection';
