-- Version 4: what users say of a run. It stands apart from the record, which never changes.
CREATE TABLE tags (
  run   INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_key ON tags (key, value);
