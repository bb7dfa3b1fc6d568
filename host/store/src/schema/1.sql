-- Version 1. docs/formats/store.md explains it; a change is a new step, never an edit here.
CREATE TABLE runs (
  key            INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  name           TEXT NOT NULL,
  verb           TEXT NOT NULL,
  clock          TEXT NOT NULL CHECK (clock IN ('real', 'virtual')),
  started        TEXT NOT NULL,
  version        TEXT NOT NULL,
  status         TEXT NOT NULL CHECK (status IN ('unfinished', 'finished', 'interrupted', 'failed')),
  -- Totals, kept in step by the transaction that adds a trial, so that a list reads nothing but this table.
  cells          INTEGER NOT NULL,
  trials_planned INTEGER NOT NULL,
  trials_done    INTEGER NOT NULL DEFAULT 0,
  doubts         INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_by_start ON runs (started, key);

-- Apart from `runs`, because a header is long and a list does not want it.
CREATE TABLE headers (
  run      INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
  document TEXT NOT NULL
) STRICT;

CREATE TABLE volumes (
  run        INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  name       TEXT NOT NULL,
  target     TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
  key            INTEGER PRIMARY KEY,
  run            INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  position       INTEGER NOT NULL,
  id             TEXT NOT NULL,
  volume         TEXT NOT NULL,
  label          TEXT NOT NULL,
  pattern        TEXT NOT NULL,
  read_ratio     REAL NOT NULL,
  block_bytes    INTEGER NOT NULL,
  queue_depth    INTEGER,
  threads        INTEGER NOT NULL,
  arrival        TEXT NOT NULL,
  rate_iops      REAL,
  trials_planned INTEGER NOT NULL,
  document       TEXT NOT NULL,
  UNIQUE (run, id)
) STRICT;
CREATE UNIQUE INDEX cells_by_position ON cells (run, position);

CREATE TABLE trials (
  key            INTEGER PRIMARY KEY,
  cell           INTEGER NOT NULL REFERENCES cells ON DELETE CASCADE,
  trial          INTEGER NOT NULL,
  started_unix_s INTEGER NOT NULL,
  engine         TEXT NOT NULL,
  measured_ns    INTEGER NOT NULL,
  offered_iops   REAL,
  iops           REAL,
  bytes_per_s    REAL,
  errors         INTEGER NOT NULL,
  ending         TEXT NOT NULL CHECK (ending IN ('complete', 'interrupted', 'failed', 'hung')),
  document       TEXT NOT NULL,
  series         BLOB NOT NULL,
  UNIQUE (cell, trial)
) STRICT;

CREATE TABLE operations (
  trial       INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,
  operation   TEXT NOT NULL CHECK (operation IN ('read', 'write', 'trim', 'flush')),
  count       INTEGER NOT NULL,
  bytes       INTEGER NOT NULL,
  errors      INTEGER NOT NULL,
  iops        REAL,
  bytes_per_s REAL,
  mean_ns     REAL,
  p50_ns      INTEGER,
  p90_ns      INTEGER,
  p95_ns      INTEGER,
  p99_ns      INTEGER,
  p99_9_ns    INTEGER,
  p99_99_ns   INTEGER,
  max_ns      INTEGER,
  latency     BLOB NOT NULL,
  waiting     BLOB,
  service     BLOB,
  PRIMARY KEY (trial, operation)
) STRICT;

CREATE TABLE doubts (
  trial    INTEGER NOT NULL REFERENCES trials ON DELETE CASCADE,
  position INTEGER NOT NULL,
  code     TEXT NOT NULL,
  detail   TEXT NOT NULL,
  PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

-- For people with an SQL shell: one row for each operation of each trial.
CREATE VIEW figures AS
SELECT runs.id AS run, runs.name, cells.volume, cells.id AS cell, cells.label, trials.trial, operations.operation,
       operations.iops, operations.bytes_per_s, operations.mean_ns, operations.p50_ns, operations.p90_ns,
       operations.p95_ns, operations.p99_ns, operations.p99_9_ns, operations.p99_99_ns, operations.max_ns,
       operations.count, operations.errors, trials.ending,
       (SELECT group_concat(code, ' ') FROM doubts WHERE doubts.trial = trials.key) AS doubts
FROM runs
JOIN cells ON cells.run = runs.key
JOIN trials ON trials.cell = cells.key
JOIN operations ON operations.trial = trials.key;
