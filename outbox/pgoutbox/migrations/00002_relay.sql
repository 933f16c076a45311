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

-- For people with psql: what each relay group has not settled yet, by slot.
CREATE OR REPLACE VIEW @{_pending} AS
SELECT p.relay_group, o.seq, coalesce(o.id_text, o.id::text) AS id, o.topic, o.key, o.type,
       octet_length(o.payload) AS payload_bytes, o.created_at, p.slot
FROM (SELECT DISTINCT ON (q.relay_group, q.slot) q.relay_group, q.slot, q.prev, q.target, q.last,
             coalesce(g.slots, 1) AS slots, g.topics
      FROM @{_positions} q LEFT JOIN @{_groups} g ON g.relay_group = q.relay_group
      WHERE q.slot < coalesce(g.slots, 1)
      ORDER BY q.relay_group, q.slot, q.window_no DESC) p
JOIN @{} o
  ON o.xid >= pg_snapshot_xmin(p.prev) -- by index: whatever prev misses is at or above its xmin
 AND NOT pg_visible_in_snapshot(o.xid, p.prev)
 AND NOT (pg_visible_in_snapshot(o.xid, p.target) AND o.seq <= p.last)
WHERE o.shard % p.slots = p.slot
  AND (p.topics IS NULL OR EXISTS (
       SELECT FROM unnest(p.topics) AS t(pattern)
       WHERE o.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')));

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
-- The first of a key is never in state wait: it is what decides about the others.
-- A key may be longer than an index takes, hence its hash.
CREATE INDEX @{name:_held_key_idx} ON @{_held} (relay_group, topic, hashtextextended(key, 0), seq);
CREATE INDEX @{name:_held_first_idx} ON @{_held} (relay_group, topic, hashtextextended(key, 0), seq) WHERE state <> 'wait';
CREATE INDEX @{name:_held_next_idx} ON @{_held} (relay_group, topic, next_at) INCLUDE (created_at) WHERE state <> 'wait';
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

-- Messages that are not due yet. They enter the log when they are. Producers that
-- delay messages need INSERT on the columns that they give.
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
CREATE INDEX @{name:_delayed_id_idx} ON @{_delayed} (id);

-- For people with psql.
CREATE VIEW @{_parked} AS
SELECT relay_group, seq, coalesce(id_text, id::text) AS id, topic, key, type, octet_length(payload) AS payload_bytes,
       state, attempts, reason, errors -> -1 ->> 'error' AS last_error, held_at, created_at
FROM @{_held} h
WHERE state = 'parked'
   OR (state = 'wait' AND EXISTS (SELECT FROM @{_held} p
       WHERE p.relay_group = h.relay_group AND p.topic = h.topic
         AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
         AND p.seq < h.seq AND p.state = 'parked' AND p.state <> 'wait'));

-- For people with psql: one row a slot. What is pending is counted up to a
-- thousand and estimated from the sequence beyond, and the oldest is the first of
-- each kind of unsettled row, so that the view stays cheap however far behind a
-- group is and however old a transaction. (SET jit = off first: to compile it takes
-- longer than to run it.) The kinds are, with T the newest window's target:
--   ahead   above what is read of the window, and not in the windows before
--   early   of transactions that were under way before the window, and are in it
--   late    of transactions under way in T, or above the next window's floor, which
--           no window holds yet although their numbers were passed
CREATE OR REPLACE VIEW @{_status} AS
SELECT l.relay_group, l.slot, l.owner, l.epoch,
       CASE WHEN l.lease_until > clock_timestamp() THEN l.lease_until - clock_timestamp() END AS lease_left,
       p.window_no, p.opened_at AS window_opened_at,
       CASE WHEN ahead.n < 1000 THEN ahead.n + early.n + late.n
            ELSE greatest(1000, (pg_sequence_last_value(pg_get_serial_sequence(@{text:}, 'seq')::regclass)
                                 - greatest(p.last, p.floor)) / coalesce(g.slots, 1)) END AS pending,
       least(ahead.oldest, early.oldest, late.oldest) AS oldest_pending,
       clock_timestamp() - least(ahead.oldest, early.oldest, late.oldest) AS lag,
       coalesce(g.slots, 1) AS slots, g.next_slots, g.topics
FROM @{_leases} l
LEFT JOIN @{_groups} g ON g.relay_group = l.relay_group
LEFT JOIN LATERAL (SELECT * FROM @{_positions} p
                   WHERE p.relay_group = l.relay_group AND p.slot = l.slot
                   ORDER BY p.window_no DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (
    -- Patterns as LIKE has them.
    SELECT array_agg(replace(replace(replace(replace(t, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')) AS wanted
    FROM unnest(g.topics) t) f ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(r.created_at) AS oldest
    FROM (SELECT o.created_at FROM @{} o
          WHERE o.seq > greatest(p.last, p.floor) AND NOT pg_visible_in_snapshot(o.xid, p.prev)
            AND o.shard % coalesce(g.slots, 1) = l.slot AND (f.wanted IS NULL OR o.topic LIKE ANY (f.wanted))
          ORDER BY o.seq LIMIT 1000) r) ahead ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(r.created_at) AS oldest
    FROM (SELECT x FROM pg_snapshot_xip(p.prev) x EXCEPT ALL SELECT x FROM pg_snapshot_xip(p.target) x) e
    CROSS JOIN LATERAL (
          SELECT o.created_at FROM @{} o
          WHERE (o.xid, o.seq) > (e.x, p.last) AND (o.xid, o.seq) <= (e.x, p.floor)
            AND o.shard % coalesce(g.slots, 1) = l.slot AND (f.wanted IS NULL OR o.topic LIKE ANY (f.wanted))
          ORDER BY o.xid, o.seq LIMIT 1000) r) early ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(r.created_at) AS oldest
    FROM ((SELECT o.created_at FROM pg_snapshot_xip(p.target) x CROSS JOIN LATERAL (
              SELECT o.created_at FROM @{} o
              WHERE (o.xid, o.seq) > (x, 0) AND (o.xid, o.seq) <= (x, least(p.next_floor, greatest(p.last, p.floor)))
                AND o.shard % coalesce(g.slots, 1) = l.slot AND (f.wanted IS NULL OR o.topic LIKE ANY (f.wanted))
              ORDER BY o.xid, o.seq LIMIT 1000) o)
          UNION ALL
          (SELECT o.created_at FROM @{} o
           WHERE o.seq > p.next_floor AND o.seq <= p.last AND NOT pg_visible_in_snapshot(o.xid, p.target)
             AND o.shard % coalesce(g.slots, 1) = l.slot AND (f.wanted IS NULL OR o.topic LIKE ANY (f.wanted))
           ORDER BY o.seq LIMIT 1000)) r) late ON true
WHERE l.slot < coalesce(g.slots, 1) AND NOT starts_with(l.relay_group, '_');
