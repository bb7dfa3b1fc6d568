-- Version 2: runs that another tool measured. The size of a volume may be unknown, and latencies may be told without a histogram.
CREATE TABLE volumes_of_2 (
  run        INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  name       TEXT NOT NULL,
  target     TEXT NOT NULL,
  size_bytes INTEGER,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
INSERT INTO volumes_of_2 SELECT run, position, name, target, size_bytes FROM volumes;
DROP TABLE volumes;
ALTER TABLE volumes_of_2 RENAME TO volumes;

-- A document: figures of the latency, where `latency` is empty for want of a histogram.
ALTER TABLE operations ADD COLUMN told TEXT;
