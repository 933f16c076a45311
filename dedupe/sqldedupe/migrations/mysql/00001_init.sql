-- One row per message and consumer. Expired rows count as absent; Prune removes them. Texts are
-- bytes: no collation makes "A" of "a". Times are microseconds since 1970, in UTC. state: 0
-- only locked, 1 claimed, 2 released undone, 3 done.
CREATE TABLE IF NOT EXISTS @{} (
    consumer    VARBINARY(200) NOT NULL,
    id          VARBINARY(1024) NOT NULL,
    state       SMALLINT NOT NULL,
    token       VARBINARY(512) NOT NULL,
    attempt     INT NOT NULL,
    fingerprint VARBINARY(512) NOT NULL,
    lease       BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    result      LONGBLOB,
    PRIMARY KEY (consumer, id),
    KEY expires_at (expires_at)
) ENGINE=InnoDB;
