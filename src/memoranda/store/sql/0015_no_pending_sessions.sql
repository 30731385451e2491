-- An index that serves no query: whether a session waits is told of all agents' rows of it together.
DROP INDEX IF EXISTS sessions_pending;
