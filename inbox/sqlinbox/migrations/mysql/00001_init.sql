-- The inbox of leat on InnoDB. Texts are bytes: no collation makes "A" of "a", and no charset converts. Times are
-- microseconds since 1970, in UTC.

-- The names of consumers, so that the inbox itself needs a number for them. ids is where the remembered
-- ids come from; empty: not noted yet.
CREATE TABLE IF NOT EXISTS @{_consumers} (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARBINARY(255) NOT NULL,
  since BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  ids VARBINARY(1000) NOT NULL DEFAULT '',
  UNIQUE KEY (name)
) ENGINE=InnoDB;

-- Rows to lock. The buckets below 4096 are those of ids, and have the floor in milliseconds:
-- ids of version 7 of the bucket below it may be forgotten. Those from 4096 on are keys'. The
-- column taken is neither read nor written: to lock rows, MySQL requires the UPDATE privilege
-- on a column. With that on taken, a consumer can lock ids, and can neither raise a floor nor
-- remove a lock.
CREATE TABLE IF NOT EXISTS @{_locks} (
  bucket SMALLINT NOT NULL PRIMARY KEY,
  floor BIGINT NOT NULL,
  taken TINYINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

@{insert_ignore} @{_locks} (bucket, floor)
SELECT a.n + 8 * b.n + 64 * c.n + 512 * d.n, 0
FROM (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
      UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) a,
     (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
      UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) b,
     (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
      UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) c,
     (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3
      UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) d;

-- What was processed. Ids of version 7 cluster by their time.
CREATE TABLE IF NOT EXISTS @{} (
  consumer INT NOT NULL,
  id BINARY(16) NOT NULL,
  at BIGINT NOT NULL,
  token INT NOT NULL,
  PRIMARY KEY (consumer, id)
) ENGINE=InnoDB;

-- Attempts at messages whose handler is about to run, or has failed.
CREATE TABLE IF NOT EXISTS @{_attempts} (
  consumer INT NOT NULL,
  id BINARY(16) NOT NULL,
  attempts INT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  errors LONGBLOB NOT NULL,
  PRIMARY KEY (consumer, id)
) ENGINE=InnoDB;

-- What is stored about messages in addition to their ids, if that is configured.
CREATE TABLE IF NOT EXISTS @{_notes} (
  consumer INT NOT NULL,
  id BINARY(16) NOT NULL,
  fingerprint LONGBLOB,
  reply LONGBLOB,
  PRIMARY KEY (consumer, id)
) ENGINE=InnoDB;

-- Messages that wait for people, or behind one of their key that does. key_hash is NULL for
-- a message without a key. next_at is when a redriven message is due.
CREATE TABLE IF NOT EXISTS @{_parked} (
  no BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  consumer INT NOT NULL,
  state VARBINARY(16) NOT NULL,
  tries INT NOT NULL,
  next_at BIGINT NOT NULL,
  attempts INT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  parked_at BIGINT NOT NULL,
  errors LONGBLOB NOT NULL,
  reason LONGBLOB NOT NULL,
  reason_group LONGBLOB NOT NULL,
  message_id LONGBLOB NOT NULL,
  topic LONGBLOB NOT NULL,
  key_hash BIGINT,
  msg_key LONGBLOB NOT NULL,
  uuid LONGBLOB NOT NULL,
  payload LONGBLOB NOT NULL,
  metadata LONGBLOB NOT NULL,
  metadata_raw LONGBLOB,
  KEY (consumer, key_hash, no),
  KEY (consumer, state, next_at, no)
) ENGINE=InnoDB;

-- Who did what to which parked message, and why. Rows are only ever added.
CREATE TABLE IF NOT EXISTS @{_audit} (
  no BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at BIGINT NOT NULL,
  consumer INT NOT NULL,
  action VARBINARY(32) NOT NULL,
  actor LONGBLOB NOT NULL,
  reason LONGBLOB NOT NULL,
  parked_no BIGINT NOT NULL,
  message_id LONGBLOB NOT NULL,
  topic LONGBLOB NOT NULL,
  msg_key LONGBLOB NOT NULL,
  details LONGBLOB,
  KEY (at)
) ENGINE=InnoDB;

-- How far consumer groups that read from a broker have come: below its mark every message of a
-- partition was acknowledged. A mark is moved before the group's offset is committed to the
-- broker, so that an offset beyond it shows that this database went back.
CREATE TABLE IF NOT EXISTS @{_marks} (
  consumer_group VARBINARY(1000) NOT NULL,
  topic VARBINARY(255) NOT NULL,
  source VARBINARY(64) NOT NULL,
  part INT NOT NULL,
  next_off BIGINT NOT NULL,
  token VARBINARY(64) NOT NULL,
  PRIMARY KEY (consumer_group, topic, source, part)
) ENGINE=InnoDB;
