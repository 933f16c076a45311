-- The business tables of the consuming service. Texts compare byte by byte, as they do in Go.

CREATE TABLE counters (
    repository VARBINARY(255) NOT NULL PRIMARY KEY,
    events     BIGINT NOT NULL
);

-- One row each time that an event takes effect. There is no unique constraint
-- on purpose: were an event to take effect twice, it would stand here twice.
CREATE TABLE effects (
    no         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    event_id   VARBINARY(64) NOT NULL,
    repository VARBINARY(255) NOT NULL,
    n          BIGINT NOT NULL, -- the counter after this effect
    at         BIGINT NOT NULL  -- microseconds since 1970
);

-- The memory of SABOTAGE=ack-before-commit, which does without the inbox.
CREATE TABLE seen (event_id VARBINARY(64) NOT NULL PRIMARY KEY);
