-- What waits for one kind of work, without a walk past all that waits for another.
CREATE INDEX derivations_waiting ON derivations (work, record_key);
