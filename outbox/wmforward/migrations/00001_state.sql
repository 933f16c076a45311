-- What a relay keeps in addition to the forwarder's table: its lease, its position, and records
-- that it has set aside. They have the form of the outbox's own.

-- Who may relay. Claimed with a synchronous commit; an owner is one incarnation
-- of one relay, and every claim raises the epoch.
CREATE TABLE @{_leases} (
    relay_group text        NOT NULL,
    slot        smallint    NOT NULL,
    owner       text,
    epoch       bigint      NOT NULL DEFAULT 0,
    -- The lease counts while the clock is between the two: as long before its renewal as after
    -- it. A clock that has gone back further has not reached it yet.
    lease_from  timestamptz NOT NULL DEFAULT '-infinity',
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    -- What relays of the group do with records that cannot be delivered; stored with slot 0.
    policies    text        NOT NULL DEFAULT '',
    PRIMARY KEY (relay_group, slot)
) WITH (fillfactor = 50);

-- How far a relay has come: one row per window, inserted when the window is opened; the newest
-- counts. A window is every row that its target snapshot sees and its prev snapshot does not,
-- read in the order of "offset". There are no floors here: the numbers are drawn before the
-- xids.
CREATE TABLE @{_positions} (
    relay_group       text        NOT NULL,
    slot              smallint    NOT NULL,
    window_no         bigint      NOT NULL,
    prev              pg_snapshot NOT NULL,
    target            pg_snapshot NOT NULL,
    floor             bigint      NOT NULL,
    next_floor        bigint      NOT NULL,
    source_floor      bigint      NOT NULL,
    -- Rows of the window up to here are settled.
    last              bigint      NOT NULL,
    opened_by         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    opened_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner             text        NOT NULL,
    epoch             bigint      NOT NULL,
    system_identifier bigint      NOT NULL,
    leads             boolean     NOT NULL DEFAULT false,
    slots             smallint    NOT NULL DEFAULT 1,
    PRIMARY KEY (relay_group, slot, window_no),
    CHECK (pg_snapshot_xmin(target) >= pg_snapshot_xmin(prev)
       AND pg_snapshot_xmax(target) >= pg_snapshot_xmax(prev))
) WITH (fillfactor = 50);

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
    PRIMARY KEY (relay_group, seq) INCLUDE (state, created_at)
);
-- The first of a key is never in state wait: it is what decides about the others. A key may be
-- longer than an index takes, hence its hash. The topic's first 255 characters are indexed as
-- in the outbox, since its statements run on these tables, too: an envelope with a longer one
-- is malformed, and never held.
CREATE INDEX @{name:_held_key_idx} ON @{_held} (relay_group, hashtextextended(key, 0), left(topic, 255), seq);
CREATE INDEX @{name:_held_first_idx} ON @{_held} (relay_group, hashtextextended(key, 0), left(topic, 255), seq) WHERE state <> 'wait';
CREATE INDEX @{name:_held_next_idx} ON @{_held} (relay_group, left(topic, 255), next_at) INCLUDE (created_at) WHERE state <> 'wait';
CREATE INDEX @{name:_held_id_idx} ON @{_held} (id);

-- Destinations that are out, as the leader of a slot sees them; written when that changes. Rows
-- whose epoch is not that of the lease are of a leader before: they count for nothing.
CREATE TABLE @{_out} (
    relay_group text        NOT NULL,
    slot        smallint    NOT NULL,
    topic       text        NOT NULL,
    epoch       bigint      NOT NULL,
    since       timestamptz NOT NULL,
    cause       text        NOT NULL,
    error       text        NOT NULL,
    PRIMARY KEY (relay_group, slot, topic)
);

-- Dead records: by the policy of their topic, relays no longer try them. They are kept for people.
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

-- For people with psql: records that wait for people, or behind one that does.
CREATE VIEW @{_parked} AS
SELECT relay_group, seq, coalesce(id_text, id::text) AS id, topic, key, type, octet_length(payload) AS payload_bytes,
       state, attempts, reason, errors -> -1 ->> 'error' AS last_error, held_at, created_at
FROM @{_held} h
WHERE state = 'parked'
   OR (state = 'wait' AND EXISTS (SELECT FROM @{_held} p
       WHERE p.relay_group = h.relay_group AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
         AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
         AND p.seq < h.seq AND p.state = 'parked' AND p.state <> 'wait'));
