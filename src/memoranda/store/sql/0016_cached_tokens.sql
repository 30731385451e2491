-- What of the tokens that were sent a provider read from its cache, and what it wrote there.
ALTER TABLE model_usage ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_usage ADD COLUMN written_tokens INTEGER NOT NULL DEFAULT 0;
