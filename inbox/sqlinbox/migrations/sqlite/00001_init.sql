-- As on MySQL. One writer at a time has the only lock, so that one bucket, for its floor, is
-- enough.

-- The names of consumers, so that the inbox itself needs a number for them.
CREATE TABLE IF NOT EXISTS @{_consumers} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name BLOB NOT NULL UNIQUE,
  since INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  ids BLOB NOT NULL DEFAULT X''
);

CREATE TABLE IF NOT EXISTS @{_locks} (
  bucket INTEGER PRIMARY KEY,
  floor INTEGER NOT NULL
);

@{insert_ignore} @{_locks} (bucket, floor) VALUES (0, 0);

CREATE TABLE IF NOT EXISTS @{} (
  consumer INTEGER NOT NULL,
  id BLOB NOT NULL,
  at INTEGER NOT NULL,
  token INTEGER NOT NULL,
  PRIMARY KEY (consumer, id)
) WITHOUT ROWID;

-- Attempts at messages whose handler is about to run, or has failed.
CREATE TABLE IF NOT EXISTS @{_attempts} (
  consumer INTEGER NOT NULL,
  id BLOB NOT NULL,
  attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  errors BLOB NOT NULL,
  PRIMARY KEY (consumer, id)
);

-- What is stored about messages in addition to their ids, if that is configured.
CREATE TABLE IF NOT EXISTS @{_notes} (
  consumer INTEGER NOT NULL,
  id BLOB NOT NULL,
  fingerprint BLOB,
  reply BLOB,
  PRIMARY KEY (consumer, id)
);

CREATE TABLE IF NOT EXISTS @{_parked} (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  consumer INTEGER NOT NULL,
  state TEXT NOT NULL,
  tries INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  parked_at INTEGER NOT NULL,
  errors BLOB NOT NULL,
  reason BLOB NOT NULL,
  reason_group BLOB NOT NULL,
  message_id BLOB NOT NULL,
  topic BLOB NOT NULL,
  key_hash INTEGER,
  msg_key BLOB NOT NULL,
  uuid BLOB NOT NULL,
  payload BLOB NOT NULL,
  metadata BLOB NOT NULL,
  metadata_raw BLOB
);
CREATE INDEX IF NOT EXISTS @{_parked_key} ON @{_parked} (consumer, key_hash, no);
CREATE INDEX IF NOT EXISTS @{_parked_due} ON @{_parked} (consumer, state, next_at, no);

-- Who did what to which parked message, and why. Rows are only ever added.
CREATE TABLE IF NOT EXISTS @{_audit} (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  consumer INTEGER NOT NULL,
  action TEXT NOT NULL,
  actor BLOB NOT NULL,
  reason BLOB NOT NULL,
  parked_no INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  topic BLOB NOT NULL,
  msg_key BLOB NOT NULL,
  details BLOB
);
CREATE INDEX IF NOT EXISTS @{_audit_at} ON @{_audit} (at);

-- How far consumer groups that read from a broker have come.
CREATE TABLE IF NOT EXISTS @{_marks} (
  consumer_group BLOB NOT NULL,
  topic BLOB NOT NULL,
  source BLOB NOT NULL,
  part INTEGER NOT NULL,
  next_off INTEGER NOT NULL,
  token BLOB NOT NULL,
  PRIMARY KEY (consumer_group, topic, source, part)
) WITHOUT ROWID;
