-- The outbox of leat on InnoDB. Every text is VARBINARY or a BLOB: with a character set,
-- 'A' would equal 'a' in many collations, blanks at the end would not count, and a
-- connection could convert what it writes. Times are microseconds since 1970, in UTC.
-- Statements commit one by one: each does nothing if it runs again.

-- The log. Rows are never updated. A row with shard -1 is not a message: it makes sure that
-- a number which nobody has used is never used.
CREATE TABLE IF NOT EXISTS @{} (
    seq         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    shard       SMALLINT NOT NULL,
    id          VARBINARY(512) NOT NULL,
    topic       VARBINARY(255) NOT NULL,
    msg_key     VARBINARY(4096) NOT NULL,
    type        VARBINARY(512) NOT NULL,
    payload     LONGBLOB NOT NULL,
    headers     MEDIUMBLOB NOT NULL,
    occurred_at BIGINT,
    created_at  BIGINT NOT NULL
) ENGINE=InnoDB;

-- The rows that writers of a key lock: a row lock lasts until COMMIT, and needs no hook. Bucket
-- 4096 is locked by the process that moves delayed messages into the log. The column taken is
-- neither read nor written: to lock rows, MySQL requires the UPDATE privilege on a column. With
-- that on taken, a producer can lock keys, and cannot change which locks there are.
CREATE TABLE IF NOT EXISTS @{_locks} (
    bucket SMALLINT NOT NULL PRIMARY KEY,
    taken  TINYINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;
@{insert_ignore} @{_locks} (bucket)
SELECT a.d + 8 * b.d + 64 * c.d + 512 * e.d
FROM (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) AS a
CROSS JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) AS b
CROSS JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) AS c
CROSS JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7) AS e;
@{insert_ignore} @{_locks} (bucket) VALUES (4096);

-- A relay group: its lease, its position (last, and the numbers up to last that were not seen),
-- what operators have set for it, and the number behind which it has begun to read.
CREATE TABLE IF NOT EXISTS @{_groups} (
    relay_group VARBINARY(200) NOT NULL PRIMARY KEY,
    owner       VARBINARY(200) NOT NULL,
    epoch       BIGINT NOT NULL,
    lease_from  BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL,
    rev         BIGINT NOT NULL,
    last        BIGINT NOT NULL,
    gaps        LONGBLOB NOT NULL,
    topics      MEDIUMBLOB NOT NULL,
    paused      MEDIUMBLOB NOT NULL,
    max_lag     BIGINT NOT NULL,
    former      MEDIUMBLOB NOT NULL,
    policies    MEDIUMBLOB NOT NULL,
    created_at  BIGINT NOT NULL,
    began       BIGINT NOT NULL,
    -- The server of the relay which has claimed the lease last, the one before, and when it changed.
    server         VARBINARY(400) NOT NULL DEFAULT '',
    server_before  VARBINARY(400) NOT NULL DEFAULT '',
    server_changed BIGINT NOT NULL DEFAULT 0
) ENGINE=InnoDB;

-- Records that were set aside. key_hash is a hash of topic and key, so that the index is short.
CREATE TABLE IF NOT EXISTS @{_held} (
    relay_group VARBINARY(200) NOT NULL,
    seq         BIGINT NOT NULL,
    state       SMALLINT NOT NULL,
    next_at     BIGINT NOT NULL,
    key_hash    BIGINT NOT NULL,
    attempts    INT NOT NULL,
    errors      LONGBLOB NOT NULL,
    reason      BLOB NOT NULL,
    since       BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,
    shard       SMALLINT NOT NULL,
    id          VARBINARY(512) NOT NULL,
    topic       VARBINARY(255) NOT NULL,
    msg_key     VARBINARY(4096) NOT NULL,
    type        VARBINARY(512) NOT NULL,
    payload     LONGBLOB NOT NULL,
    headers     MEDIUMBLOB NOT NULL,
    occurred_at BIGINT,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (relay_group, seq),
    KEY line (relay_group, key_hash, seq),
    KEY line_state (relay_group, key_hash, state, seq),
    KEY due (relay_group, state, next_at),
    KEY by_id (relay_group, id)
) ENGINE=InnoDB;

-- Destinations that are out, as the leader of a group sees them; written when that changes. Rows
-- whose epoch is not that of the group are of a leader before: they count for nothing.
CREATE TABLE IF NOT EXISTS @{_out} (
    relay_group VARBINARY(200) NOT NULL,
    topic       VARBINARY(255) NOT NULL,
    epoch       BIGINT NOT NULL,
    since       BIGINT NOT NULL,
    cause       VARBINARY(20) NOT NULL,
    error       BLOB NOT NULL,
    PRIMARY KEY (relay_group, topic)
) ENGINE=InnoDB;

-- Messages whose time has not come.
CREATE TABLE IF NOT EXISTS @{_delayed} (
    no          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    not_before  BIGINT NOT NULL,
    shard       SMALLINT NOT NULL,
    id          VARBINARY(512) NOT NULL,
    topic       VARBINARY(255) NOT NULL,
    msg_key     VARBINARY(4096) NOT NULL,
    type        VARBINARY(512) NOT NULL,
    payload     LONGBLOB NOT NULL,
    headers     MEDIUMBLOB NOT NULL,
    occurred_at BIGINT,
    created_at  BIGINT NOT NULL,
    KEY due (not_before, no),
    KEY by_id (id)
) ENGINE=InnoDB;

-- Who did what to which record, and why. Rows are only ever added.
CREATE TABLE IF NOT EXISTS @{_audit} (
    no          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at          BIGINT NOT NULL,
    action      VARBINARY(64) NOT NULL,
    actor       BLOB NOT NULL,
    reason      BLOB NOT NULL,
    relay_group VARBINARY(200) NOT NULL,
    seq         BIGINT NOT NULL,
    id          VARBINARY(512) NOT NULL,
    topic       VARBINARY(255) NOT NULL,
    msg_key     VARBINARY(4096) NOT NULL,
    details     LONGBLOB NOT NULL,
    KEY by_time (at),
    KEY by_id (id)
) ENGINE=InnoDB;

-- One row: what distinguishes this outbox from others, the number up to which retention may
-- have deleted, and the database in which it is, by which a copy in another one is recognised.
CREATE TABLE IF NOT EXISTS @{_meta} (
    only_row SMALLINT NOT NULL PRIMARY KEY,
    instance VARBINARY(64) NOT NULL,
    floor    BIGINT NOT NULL,
    place    VARBINARY(256) NOT NULL
) ENGINE=InnoDB;
@{insert_ignore} @{_meta} (only_row, instance, floor, place) VALUES (1, REPLACE(UUID(), '-', ''), 0, @{database});

-- The row that names the life of the log, below all numbers: it disappears when the table is
-- emptied or replaced, and then no relay uses a position of the log that was there before. The
-- instance of the meta table is the name that positions and the floor belong to.
@{insert_ignore} @{} (seq, shard, id, topic, msg_key, type, payload, headers, created_at)
SELECT -1, -1, instance, '', '', '', '', '', @{now} FROM @{_meta} WHERE only_row = 1;
