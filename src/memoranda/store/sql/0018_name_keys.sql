-- Names are kept under other keys, by which a short form finds only what it may stand for; they are
-- made of the names when the database is opened.
DELETE FROM entity_name_keys;
