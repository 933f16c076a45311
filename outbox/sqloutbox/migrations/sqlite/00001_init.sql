-- The outbox of leat on SQLite. Texts are BLOBs, as on the other databases, and compare
-- byte by byte. Times are microseconds since 1970, in UTC. Writers come one after the
-- other, so that nothing else is locked.

-- The log. Rows are never updated. A row with shard -1 is not a message: it makes sure that
-- a number which nobody has used is never used. AUTOINCREMENT: a number
-- that was used and deleted is never used again.
CREATE TABLE IF NOT EXISTS @{} (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    shard       INTEGER NOT NULL,
    id          BLOB NOT NULL,
    topic       BLOB NOT NULL,
    msg_key     BLOB NOT NULL,
    type        BLOB NOT NULL,
    payload     BLOB NOT NULL,
    headers     BLOB NOT NULL,
    occurred_at INTEGER,
    created_at  INTEGER NOT NULL
);

-- A relay group: its lease, its position (last, and the numbers up to last that were not seen),
-- what operators have set for it, and the number behind which it has begun to read.
CREATE TABLE IF NOT EXISTS @{_groups} (
    relay_group BLOB NOT NULL PRIMARY KEY,
    owner       BLOB NOT NULL,
    epoch       INTEGER NOT NULL,
    lease_from  INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL,
    rev         INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    gaps        BLOB NOT NULL,
    topics      BLOB NOT NULL,
    paused      BLOB NOT NULL,
    max_lag     INTEGER NOT NULL,
    former      BLOB NOT NULL,
    policies    BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    began       INTEGER NOT NULL,
    -- Always empty: SQLite has no server.
    server         BLOB NOT NULL DEFAULT '',
    server_before  BLOB NOT NULL DEFAULT '',
    server_changed INTEGER NOT NULL DEFAULT 0
);

-- Records that were set aside. key_hash is a hash of topic and key, so that the index is short.
CREATE TABLE IF NOT EXISTS @{_held} (
    relay_group BLOB NOT NULL,
    seq         INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    next_at     INTEGER NOT NULL,
    key_hash    INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    errors      BLOB NOT NULL,
    reason      BLOB NOT NULL,
    since       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    shard       INTEGER NOT NULL,
    id          BLOB NOT NULL,
    topic       BLOB NOT NULL,
    msg_key     BLOB NOT NULL,
    type        BLOB NOT NULL,
    payload     BLOB NOT NULL,
    headers     BLOB NOT NULL,
    occurred_at INTEGER,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (relay_group, seq)
);
CREATE INDEX IF NOT EXISTS @{_held_line} ON @{_held} (relay_group, key_hash, seq);
CREATE INDEX IF NOT EXISTS @{_held_line_state} ON @{_held} (relay_group, key_hash, state, seq);
CREATE INDEX IF NOT EXISTS @{_held_due} ON @{_held} (relay_group, state, next_at);
CREATE INDEX IF NOT EXISTS @{_held_by_id} ON @{_held} (relay_group, id);

-- Destinations that are out, as the leader of a group sees them; written when that changes. Rows
-- whose epoch is not that of the group are of a leader before: they count for nothing.
CREATE TABLE IF NOT EXISTS @{_out} (
    relay_group BLOB NOT NULL,
    topic       BLOB NOT NULL,
    epoch       INTEGER NOT NULL,
    since       INTEGER NOT NULL,
    cause       BLOB NOT NULL,
    error       BLOB NOT NULL,
    PRIMARY KEY (relay_group, topic)
);

-- Messages whose time has not come.
CREATE TABLE IF NOT EXISTS @{_delayed} (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    not_before  INTEGER NOT NULL,
    shard       INTEGER NOT NULL,
    id          BLOB NOT NULL,
    topic       BLOB NOT NULL,
    msg_key     BLOB NOT NULL,
    type        BLOB NOT NULL,
    payload     BLOB NOT NULL,
    headers     BLOB NOT NULL,
    occurred_at INTEGER,
    created_at  INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS @{_delayed_due} ON @{_delayed} (not_before, no);
CREATE INDEX IF NOT EXISTS @{_delayed_by_id} ON @{_delayed} (id);

-- Who did what to which record, and why. Rows are only ever added.
CREATE TABLE IF NOT EXISTS @{_audit} (
    no          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    action      BLOB NOT NULL,
    actor       BLOB NOT NULL,
    reason      BLOB NOT NULL,
    relay_group BLOB NOT NULL,
    seq         INTEGER NOT NULL,
    id          BLOB NOT NULL,
    topic       BLOB NOT NULL,
    msg_key     BLOB NOT NULL,
    details     BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS @{_audit_by_time} ON @{_audit} (at);
CREATE INDEX IF NOT EXISTS @{_audit_by_id} ON @{_audit} (id);

-- One row: what distinguishes this outbox from others, and the number up to which retention may
-- have deleted.
CREATE TABLE IF NOT EXISTS @{_meta} (
    only_row INTEGER NOT NULL PRIMARY KEY,
    instance BLOB NOT NULL,
    floor    INTEGER NOT NULL,
    place    BLOB NOT NULL
);
@{insert_ignore} @{_meta} (only_row, instance, floor, place) VALUES (1, CAST(LOWER(HEX(RANDOMBLOB(16))) AS BLOB), 0, @{database});

-- The row that names the life of the log, below all numbers: it disappears when the table is
-- emptied or replaced, and then no relay uses a position of the log that was there before. The
-- instance of the meta table is the name that positions and the floor belong to.
@{insert_ignore} @{} (seq, shard, id, topic, msg_key, type, payload, headers, created_at)
SELECT -1, -1, instance, X'', X'', X'', X'', X'', @{now} FROM @{_meta} WHERE only_row = 1;
