-- The business tables of the consuming service.

CREATE TABLE counters (
    repository TEXT NOT NULL PRIMARY KEY,
    events     INTEGER NOT NULL
);

-- One row each time that an event takes effect. There is no unique constraint
-- on purpose: were an event to take effect twice, it would stand here twice.
CREATE TABLE effects (
    no         INTEGER PRIMARY KEY,
    event_id   TEXT NOT NULL,
    repository TEXT NOT NULL,
    n          INTEGER NOT NULL, -- the counter after this effect
    at         INTEGER NOT NULL  -- microseconds since 1970
);

-- The memory of SABOTAGE=ack-before-commit, which does without the inbox.
CREATE TABLE seen (event_id TEXT NOT NULL PRIMARY KEY);
