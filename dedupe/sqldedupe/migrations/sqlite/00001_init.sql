-- One row per message and consumer. Expired rows count as absent; Prune removes them. Texts are
-- bytes. Times are microseconds since 1970, in UTC. state: 0 only locked, 1 claimed, 2 released
-- undone, 3 done.
CREATE TABLE IF NOT EXISTS @{} (
    consumer    BLOB NOT NULL,
    id          BLOB NOT NULL,
    state       INTEGER NOT NULL,
    token       BLOB NOT NULL,
    attempt     INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    lease       INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    result      BLOB,
    PRIMARY KEY (consumer, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS @{_expires_at} ON @{} (expires_at);
