-- The outbox of leat: an append-only log of the messages that business
-- transactions enqueued. Nothing in it is ever updated, so it grows no dead
-- rows; relays keep their positions beside it.
--
-- Producers need INSERT on the columns that they give (id, shard, id_text, topic,
-- key, type, payload, headers, occurred_at; an explicit xid of the past would be
-- accepted and never read) and SELECT on the _meta table.

CREATE TABLE @{} (
    -- The writing transaction. It stands before seq because defaults are
    -- computed in column order, and a relay's floor is sound only if a number is
    -- drawn after its transaction's xid.
    xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    -- The record's place in the log. The sequence caches nothing (CACHE 1):
    -- numbers kept back by a session would break the order of a key.
    seq         bigint      GENERATED ALWAYS AS IDENTITY (CACHE 1),
    -- The database's clock at enqueue, for people, latency and replay by time.
    -- Nothing is ever ordered by it.
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The producer's time of the event; NULL means created_at.
    occurred_at timestamptz,
    -- The message id. Where the producer's id is no canonical UUID, a UUIDv5 of
    -- it, with the original in id_text.
    id          uuid        NOT NULL,
    -- FNV-1a of the key, or of the id where there is none, modulo 64.
    shard       smallint    NOT NULL CHECK (shard BETWEEN 0 AND 63),
    id_text     text,
    topic       text        NOT NULL,
    -- NULL: unordered.
    key         text,
    type        text,
    -- Bytes as the producer serialised them: as JSON they would lose NULs, the
    -- order of keys and the precision of numbers.
    payload     bytea       NOT NULL,
    headers     jsonb,
    PRIMARY KEY (seq)
) PARTITION BY RANGE (seq);

-- Finds the rows of transactions that were still open when a relay looked.
CREATE INDEX @{name:_xid_seq_idx} ON @{} (xid, seq);
-- Finds the start of a replay by time; a BRIN costs producers next to nothing.
CREATE INDEX @{name:_created_at_idx} ON @{} USING brin (created_at);

-- Ranges of ten million numbers, so that history can be dropped in pieces. The
-- last one is open-ended: a producer never fails for want of a range. There is
-- no DEFAULT partition, since with one the ranges no longer read as one ordered
-- run.
CREATE TABLE @{_p1} PARTITION OF @{} FOR VALUES FROM (MINVALUE) TO (10000001);
CREATE TABLE @{_p2} PARTITION OF @{} FOR VALUES FROM (10000001) TO (20000001);
CREATE TABLE @{_p3} PARTITION OF @{} FOR VALUES FROM (20000001) TO (30000001);
CREATE TABLE @{_p4} PARTITION OF @{} FOR VALUES FROM (30000001) TO (40000001);
CREATE TABLE @{_tail} PARTITION OF @{} FOR VALUES FROM (40000001) TO (MAXVALUE);

-- One row: what tells this outbox from one of the same name elsewhere.
CREATE TABLE @{_meta} (
    only_row   boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    instance   uuid        NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO @{_meta} DEFAULT VALUES;

-- Who may relay. Claimed with a synchronous commit; an owner is one incarnation
-- of one relay, and every claim raises the epoch.
CREATE TABLE @{_leases} (
    relay_group text        NOT NULL,
    slot        smallint    NOT NULL,
    owner       text,
    epoch       bigint      NOT NULL DEFAULT 0,
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (relay_group, slot)
) WITH (fillfactor = 50);

-- How far a relay has come: one row a window, inserted when the window is
-- opened, the newest counts. A window is every row that its target snapshot sees
-- and its prev snapshot does not, read in the order of seq.
CREATE TABLE @{_positions} (
    relay_group       text        NOT NULL,
    slot              smallint    NOT NULL,
    window_no         bigint      NOT NULL,
    prev              pg_snapshot NOT NULL,
    target            pg_snapshot NOT NULL,
    -- Rows of the window at or below floor belong to transactions that were
    -- under way in prev. next_floor is the floor of the window after this one,
    -- source_floor that of the one after that.
    floor             bigint      NOT NULL,
    next_floor        bigint      NOT NULL,
    source_floor      bigint      NOT NULL,
    -- Rows of the window up to here are settled.
    last              bigint      NOT NULL,
    -- The transaction that opened the window.
    opened_by         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    opened_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner             text        NOT NULL,
    epoch             bigint      NOT NULL,
    system_identifier bigint      NOT NULL,
    PRIMARY KEY (relay_group, slot, window_no),
    CHECK (pg_snapshot_xmin(target) >= pg_snapshot_xmin(prev)
       AND pg_snapshot_xmax(target) >= pg_snapshot_xmax(prev)),
    CHECK (floor <= next_floor AND next_floor <= source_floor)
) WITH (fillfactor = 50);

-- For people with psql: what each relay group has not settled yet.
CREATE VIEW @{_pending} AS
SELECT p.relay_group, o.seq, coalesce(o.id_text, o.id::text) AS id, o.topic, o.key, o.type,
       octet_length(o.payload) AS payload_bytes, o.created_at
FROM (SELECT DISTINCT ON (relay_group, slot) * FROM @{_positions}
      ORDER BY relay_group, slot, window_no DESC) p
JOIN @{} o
  ON o.xid >= pg_snapshot_xmin(p.prev) -- by index: whatever prev misses is at or above its xmin
 AND NOT pg_visible_in_snapshot(o.xid, p.prev)
 AND NOT (pg_visible_in_snapshot(o.xid, p.target) AND o.seq <= p.last);

-- For people with psql: one row a relay group.
CREATE VIEW @{_status} AS
SELECT l.relay_group, l.slot, l.owner, l.epoch,
       CASE WHEN l.lease_until > clock_timestamp() THEN l.lease_until - clock_timestamp() END AS lease_left,
       p.window_no, p.opened_at AS window_opened_at,
       b.pending, b.oldest_pending, clock_timestamp() - b.oldest_pending AS lag
FROM @{_leases} l
LEFT JOIN LATERAL (SELECT * FROM @{_positions} p
                   WHERE p.relay_group = l.relay_group AND p.slot = l.slot
                   ORDER BY p.window_no DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (SELECT count(*) AS pending, min(created_at) AS oldest_pending
                   FROM @{_pending} x WHERE x.relay_group = l.relay_group) b ON true;
