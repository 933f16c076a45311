-- The business tables of the consuming service.

CREATE TABLE counters (
    repository text   PRIMARY KEY,
    events     bigint NOT NULL
);

-- One row each time that an event takes effect. There is no unique constraint
-- on purpose: were an event to take effect twice, it would stand here twice.
CREATE TABLE effects (
    event_id   text   NOT NULL,
    repository text   NOT NULL,
    n          bigint NOT NULL, -- the counter after this effect
    at         bigint NOT NULL  -- microseconds since 1970
);

-- The memory of SABOTAGE=ack-before-commit, which does without the inbox.
CREATE TABLE seen (event_id text PRIMARY KEY);
