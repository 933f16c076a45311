-- What relays need to run for years: groups with slots, records that are set
-- aside, delayed messages, and an audit of what people did.

-- One row a relay group. A group that is not listed has one slot and reads every topic.
CREATE TABLE @{_groups} (
    relay_group text        PRIMARY KEY,
    -- Each slot reads the shards that are its number modulo slots.
    slots       smallint    NOT NULL DEFAULT 1 CHECK (slots BETWEEN 1 AND 64),
    -- Set while the number of slots is being changed.
    next_slots  smallint    CHECK (next_slots BETWEEN 1 AND 64),
    -- Patterns of the topics that the group reads; NULL: all.
    topics      text[],
    -- A group whose oldest message waits for longer than this no longer holds
    -- history back; NULL: it always does.
    max_lag     interval,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO @{_groups} (relay_group) SELECT DISTINCT relay_group FROM @{_leases};

-- Relays that live, so that they can share the slots of a group fairly.
CREATE TABLE @{_members} (
    relay_group text        NOT NULL,
    member      text        NOT NULL,
    -- The number of slots that it wants, and since when it has said so.
    slots       smallint    NOT NULL,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_until  timestamptz NOT NULL,
    PRIMARY KEY (relay_group, member)
) WITH (fillfactor = 50);

-- Where a group has several slots they share one chain of windows: the slot
-- that opens a window leads, the others copy its snapshots. A window with
-- another number of slots than the one before is empty; where the slots change,
-- every slot comes to it before any goes past it. leads stays false where there is
-- but one slot.
ALTER TABLE @{_positions} ADD COLUMN leads boolean NOT NULL DEFAULT false;
ALTER TABLE @{_positions} ADD COLUMN slots smallint NOT NULL DEFAULT 1;
CREATE UNIQUE INDEX @{name:_leads_idx} ON @{_positions} (relay_group, window_no) WHERE leads;

-- Copies of records that could not be delivered when their turn came, so that
-- the position could pass them. They pin no history.
CREATE TABLE @{_held} (
    relay_group text        NOT NULL,
    seq         bigint      NOT NULL,
    -- retry: is tried again at next_at. wait: follows an earlier record of its
    -- key. parked: waits for people, and all behind it of its key with it.
    state       text        NOT NULL CHECK (state IN ('retry', 'wait', 'parked')),
    next_at     timestamptz CHECK ((next_at IS NOT NULL) = (state = 'retry')),
    -- Failed deliveries since it was held or redriven, and every error there was:
    -- [{"at", "kind", "error", "epoch"}].
    attempts    integer     NOT NULL DEFAULT 0,
    errors      jsonb       NOT NULL DEFAULT '[]',
    reason      text,
    epoch       bigint      NOT NULL,
    held_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at  timestamptz NOT NULL,
    occurred_at timestamptz,
    id          uuid        NOT NULL,
    shard       smallint    NOT NULL,
    id_text     text,
    topic       text        NOT NULL,
    key         text,
    type        text,
    payload     bytea       NOT NULL,
    headers     jsonb,
    PRIMARY KEY (relay_group, seq)
);
CREATE INDEX @{name:_held_next_idx} ON @{_held} (relay_group, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX @{name:_held_key_idx} ON @{_held} (relay_group, topic, key, seq);
CREATE INDEX @{name:_held_id_idx} ON @{_held} (id);

-- Records that were given up by the policy of their topic, for people.
CREATE TABLE @{_dead} (
    relay_group text        NOT NULL,
    seq         bigint      NOT NULL,
    errors      jsonb       NOT NULL DEFAULT '[]',
    reason      text,
    epoch       bigint      NOT NULL,
    died_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at  timestamptz NOT NULL,
    occurred_at timestamptz,
    id          uuid        NOT NULL,
    shard       smallint    NOT NULL,
    id_text     text,
    topic       text        NOT NULL,
    key         text,
    type        text,
    payload     bytea       NOT NULL,
    headers     jsonb,
    PRIMARY KEY (relay_group, seq)
);
CREATE INDEX @{name:_dead_id_idx} ON @{_dead} (id);

-- Who did what to which record, and why. Rows are only ever added.
CREATE TABLE @{_audit} (
    no          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- park, dead, skip, redrive, skip_head, drop, rebase, remove_group, replay …
    action      text        NOT NULL,
    actor       text        NOT NULL,
    reason      text,
    relay_group text,
    seq         bigint,
    id          text,
    topic       text,
    key         text,
    details     jsonb
);
CREATE INDEX @{name:_audit_at_idx} ON @{_audit} (at);

-- Messages that are not due yet. They enter the log when they are.
CREATE TABLE @{_delayed} (
    not_before  timestamptz NOT NULL,
    no          bigint      GENERATED ALWAYS AS IDENTITY,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    occurred_at timestamptz,
    id          uuid        NOT NULL,
    shard       smallint    NOT NULL CHECK (shard BETWEEN 0 AND 63),
    id_text     text,
    topic       text        NOT NULL,
    key         text,
    type        text,
    payload     bytea       NOT NULL,
    headers     jsonb,
    PRIMARY KEY (not_before, no)
);

-- For people with psql.
CREATE VIEW @{_parked} AS
SELECT relay_group, seq, coalesce(id_text, id::text) AS id, topic, key, type, octet_length(payload) AS payload_bytes,
       state, attempts, reason, errors -> -1 ->> 'error' AS last_error, held_at, created_at
FROM @{_held} h
WHERE state = 'parked'
   OR (state = 'wait' AND EXISTS (SELECT FROM @{_held} p
       WHERE p.relay_group = h.relay_group AND p.topic = h.topic AND p.key = h.key AND p.state = 'parked'));
