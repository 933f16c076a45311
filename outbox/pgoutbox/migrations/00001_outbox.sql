-- The outbox of leat: an append-only log of the messages that business transactions enqueued.
-- Nothing in it is ever updated, so it grows no dead rows; relays keep their positions in other
-- tables.
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
    -- The message id. Where the producer's id is not a canonical UUID, a UUIDv5 of
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

-- One row: what distinguishes this outbox from one of the same name elsewhere.
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
    -- The lease counts while the clock is between the two: as long before its renewal as after
    -- it. A clock that has gone back further has not reached it yet.
    lease_from  timestamptz NOT NULL DEFAULT '-infinity',
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    -- Patterns of the topics by which the slot's position was made; NULL: not noted yet, those of
    -- the group.
    topics      text[],
    -- What relays of the group do with records that cannot be delivered; stored with slot 0.
    policies    text        NOT NULL DEFAULT '',
    PRIMARY KEY (relay_group, slot)
) WITH (fillfactor = 50);

-- One row per relay group. A group that is not listed has one slot and reads every topic.
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
    -- Names that the group had before, so that no group of such a name is begun by mistake.
    former      text[]      NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The log that the group's positions belong to: the file of its sequence, which
    -- TRUNCATE … RESTART IDENTITY, ALTER SEQUENCE and a restored dump replace, and
    -- nothing else does in the life of a cluster; above its 32 bits the oid of the database.
    -- NULL: not noted yet.
    incarnation bigint,
    -- The timeline of the server when a slot was claimed last, the one before, and when it was
    -- first seen to be another one. NULL: not noted yet; no change was noticed.
    timeline         bigint,
    timeline_before  bigint,
    timeline_changed timestamptz,
    -- Patterns of the topics that an operator has paused; NULL: none. * is all of the group.
    paused      text[],
    -- The group has begun at the oldest message: there is none that it has left out.
    from_oldest boolean     NOT NULL DEFAULT false
);

-- Live relays, so that they can share the slots of a group fairly.
CREATE TABLE @{_members} (
    relay_group text        NOT NULL,
    member      text        NOT NULL,
    -- The number of slots that it wants, and since when it has said so.
    slots       smallint    NOT NULL,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_from   timestamptz NOT NULL DEFAULT '-infinity',
    seen_until  timestamptz NOT NULL,
    PRIMARY KEY (relay_group, member)
) WITH (fillfactor = 50);

-- How far a relay has come: one row per window, inserted when the window is opened; the newest
-- counts. A window is every row that its target snapshot sees and its prev snapshot does not,
-- read in the order of seq.
--
-- Where a group has several slots they share one chain of windows: the slot
-- that opens a window leads, the others copy its snapshots. A window with
-- another number of slots than the one before is empty; where the slots change, every slot
-- comes to it before any goes past it. leads stays false if there is only one slot.
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
    leads             boolean     NOT NULL DEFAULT false,
    slots             smallint    NOT NULL DEFAULT 1,
    PRIMARY KEY (relay_group, slot, window_no),
    CHECK (pg_snapshot_xmin(target) >= pg_snapshot_xmin(prev)
       AND pg_snapshot_xmax(target) >= pg_snapshot_xmax(prev)),
    CHECK (floor <= next_floor AND next_floor <= source_floor)
) WITH (fillfactor = 50);
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
    PRIMARY KEY (relay_group, seq) INCLUDE (state, created_at)
);
-- The first of a key is never in state wait: it is what decides about the others.
-- A key may be longer than an index takes, hence its hash, and so may a topic that
-- producers write by SQL, hence its first 255 characters, which is all of every valid one.
-- The hash comes first, since it selects best.
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
-- Finds the entries about a message, however many there are. An id may be longer than an
-- index takes, hence its hash.
CREATE INDEX @{name:_audit_id_idx} ON @{_audit} (hashtextextended(id, 0), no) WHERE id IS NOT NULL;

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

-- A position is valid only in the history that wrote it: the cluster, and the log as it was
-- then. One that contradicts its database counts as no position at all, for relays, for
-- maintenance and for the views.

-- What is wrong with a position, NULL for nothing. Relays refuse what this names. The texts are
-- those of the table of facts (internal/basis).
CREATE FUNCTION @{_problem}(system_identifier bigint, incarnation bigint, source_floor bigint) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN system_identifier <> (pg_control_system()).system_identifier
    THEN 'the stored position belongs to another database cluster'
    WHEN (incarnation >> 32) & 4294967295 NOT IN (0, (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()))
    THEN 'the stored position belongs to another database of the server'
    WHEN incarnation & 4294967295 <> pg_relation_filenode(pg_get_serial_sequence(@{text:}, 'seq')::regclass)::bigint
    THEN 'the log was truncated, restored or replaced since the position was stored, so that its numbers begin anew'
    WHEN has_sequence_privilege(pg_get_serial_sequence(@{text:}, 'seq'), 'USAGE, SELECT')
     AND source_floor > coalesce(pg_sequence_last_value(pg_get_serial_sequence(@{text:}, 'seq')::regclass), 0)
    THEN 'the log''s numbers have gone back behind the stored position'
END;

-- A position is not valid, either, once the log's sequence was set back: rows have numbers that
-- it has passed. The relay looks at all rows behind its window. The views and maintenance look
-- at the hundred rows up to the highest number that the newest window knows of: if the sequence
-- has come back to it, these are new. If it has not, its position is ahead of the log.

-- Where each slot stands: its newest window, and what is wrong with it. A position with a
-- problem has settled nothing.
CREATE VIEW @{_standing} AS
SELECT s.relay_group, s.slot, s.slots, s.next_slots, s.topics, w.problem, p.window_no, p.opened_at,
       CASE WHEN w.problem IS NULL THEN p.prev ELSE '3:3:' END AS prev,
       CASE WHEN w.problem IS NULL THEN p.target ELSE '3:3:' END AS target,
       CASE WHEN w.problem IS NULL THEN p.floor ELSE 0 END AS floor,
       CASE WHEN w.problem IS NULL THEN p.next_floor ELSE 0 END AS next_floor,
       CASE WHEN w.problem IS NULL THEN p.last ELSE 0 END AS last
FROM (SELECT g.relay_group, n.slot::smallint AS slot, g.slots, g.next_slots, g.topics, g.incarnation
      FROM @{_groups} g CROSS JOIN LATERAL generate_series(0, g.slots - 1) AS n(slot)
      UNION ALL
      SELECT DISTINCT q.relay_group, 0::smallint, 1::smallint, NULL::smallint, NULL::text[], NULL::bigint
      FROM @{_positions} q
      WHERE NOT EXISTS (SELECT FROM @{_groups} g WHERE g.relay_group = q.relay_group)) s
CROSS JOIN LATERAL (
      SELECT * FROM @{_positions} q
      WHERE q.relay_group = s.relay_group AND q.slot = s.slot
      ORDER BY q.window_no DESC
      LIMIT 1) p
CROSS JOIN LATERAL (
      SELECT coalesce(@{_problem}(p.system_identifier, s.incarnation, p.source_floor),
             CASE WHEN EXISTS (
                  SELECT FROM (SELECT o.xid, o.seq FROM @{} o WHERE o.seq <= p.source_floor ORDER BY o.seq DESC LIMIT 100) r
                  WHERE r.xid > p.opened_by OR r.seq <= p.next_floor AND r.xid >= pg_snapshot_xmax(p.target))
             THEN 'the log has given out numbers again that the stored position has passed' END) AS problem
      OFFSET 0) w;

-- The views cost a few index probes per slot, and the planner must know it: it compiles what it
-- considers expensive (jit), which takes seconds, and it does not know the bounds before the
-- view runs. So conditions that hold for every row, such as BETWEEN (SELECT 0) AND (SELECT 63),
-- tell it how few rows there are: half a percent for each. A CASE around a filter says that
-- half of the rows pass, so that a LIMIT is met soon.

-- For people with psql: what each relay group has not settled yet, by slot.
CREATE VIEW @{_pending} AS
SELECT p.relay_group, o.seq, coalesce(o.id_text, o.id::text) AS id, o.topic, o.key, o.type,
       octet_length(o.payload) AS payload_bytes, o.created_at, p.slot
FROM @{_standing} p
JOIN @{} o
  ON o.xid >= pg_snapshot_xmin(p.prev) -- by index: whatever prev misses is at or above its xmin
 AND o.xid <= (SELECT '18446744073709551615'::xid8)
 AND CASE WHEN pg_visible_in_snapshot(o.xid, p.prev) THEN false
          WHEN pg_visible_in_snapshot(o.xid, p.target) THEN o.seq > p.last
          ELSE true END
WHERE p.slot BETWEEN (SELECT 0) AND (SELECT 63)
  AND p.last BETWEEN (SELECT 0) AND (SELECT 9223372036854775807)
  AND p.floor BETWEEN (SELECT 0) AND (SELECT 9223372036854775807)
  AND CASE WHEN o.shard % p.slots = p.slot THEN
           p.topics IS NULL OR EXISTS (
           SELECT FROM unnest(p.topics) AS t(pattern)
           WHERE o.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')) END;

-- For people with psql: one row per slot. What is pending is counted up to a thousand and
-- estimated beyond, from the numbers that each range holds: where a range was closed, those up
-- to its end were never drawn. The oldest is the first of each kind of unsettled row, so that
-- the view stays cheap however far behind a group is and however old a transaction. The kinds
-- are, with T the newest window's target:
--   ahead   above what is read of the window, and not in the windows before
--   early   of transactions that were under way before the window, and are in it
--   late    of transactions under way in T, or above the next window's floor, which
--           no window holds yet although their numbers were passed
-- While there is a problem, which relays refuse, all that the log holds is ahead.
-- What is set aside is no longer pending: held and held_lag are of the first thousand of the
-- whole group, in each of its rows.
CREATE VIEW @{_status} AS
SELECT l.relay_group, l.slot, l.owner, l.epoch,
       CASE WHEN clock_timestamp() BETWEEN l.lease_from AND l.lease_until THEN l.lease_until - clock_timestamp() END AS lease_left,
       p.window_no, p.opened_at AS window_opened_at,
       CASE WHEN ahead.n < 1000 THEN ahead.n + early.n + late.n
            ELSE greatest(1000, (
                 SELECT sum(greatest(0, top.seq - greatest(r.start - 1, p.last, p.floor)))::bigint
                 FROM (SELECT coalesce(substring(b.bound FROM 'FROM \(''(\d+)''\)')::bigint, 1) AS start,
                              coalesce(substring(b.bound FROM 'TO \(''(\d+)''\)')::bigint, 9223372036854775807) AS upto
                       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                       CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound OFFSET 0) b
                       WHERE i.inhparent = @{text:}::regclass) r
                 CROSS JOIN LATERAL (SELECT o.seq FROM @{} o WHERE o.seq >= r.start AND o.seq < r.upto
                                     ORDER BY o.seq DESC LIMIT 1) top
                 WHERE r.upto > greatest(p.last, p.floor)) / coalesce(g.slots, 1)) END AS pending,
       least(ahead.oldest, early.oldest, late.oldest) AS oldest_pending,
       clock_timestamp() - least(ahead.oldest, early.oldest, late.oldest) AS lag,
       coalesce(g.slots, 1) AS slots, g.next_slots, g.topics, p.problem,
       aside.n AS held, clock_timestamp() - aside.oldest AS held_lag
FROM @{_leases} l
LEFT JOIN @{_groups} g ON g.relay_group = l.relay_group
LEFT JOIN LATERAL (SELECT * FROM @{_standing} p
                   WHERE p.relay_group = l.relay_group AND p.slot = l.slot LIMIT 1) p ON true
LEFT JOIN LATERAL (
    -- Patterns as LIKE has them.
    SELECT array_agg(replace(replace(replace(replace(t, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')) AS wanted
    FROM unnest(g.topics) t) f ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(r.created_at) AS oldest
    FROM (SELECT o.created_at FROM @{} o
          WHERE o.seq > greatest(p.last, p.floor)
            AND CASE WHEN pg_visible_in_snapshot(o.xid, p.prev) THEN false
                     WHEN o.shard % coalesce(g.slots, 1) = l.slot THEN f.wanted IS NULL OR o.topic LIKE ANY (f.wanted) END
          ORDER BY o.seq LIMIT 1000) r) ahead ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(r.created_at) AS oldest
    FROM (SELECT x FROM pg_snapshot_xip(p.prev) x
          WHERE x BETWEEN (SELECT '0'::xid8) AND (SELECT '18446744073709551615'::xid8)
          EXCEPT ALL SELECT x FROM pg_snapshot_xip(p.target) x) e
    CROSS JOIN LATERAL (
          SELECT o.created_at FROM @{} o
          WHERE (o.xid, o.seq) > (e.x, p.last) AND (o.xid, o.seq) <= (e.x, p.floor)
            AND CASE WHEN o.shard % coalesce(g.slots, 1) = l.slot THEN f.wanted IS NULL OR o.topic LIKE ANY (f.wanted) END
          ORDER BY o.xid, o.seq LIMIT 1000) r) early ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(r.created_at) AS oldest
    FROM ((SELECT o.created_at
           FROM (SELECT x FROM pg_snapshot_xip(p.target) x
                 WHERE x BETWEEN (SELECT '0'::xid8) AND (SELECT '18446744073709551615'::xid8)) e
           CROSS JOIN LATERAL (
              SELECT o.created_at FROM @{} o
              WHERE (o.xid, o.seq) > (e.x, 0) AND (o.xid, o.seq) <= (e.x, least(p.next_floor, greatest(p.last, p.floor)))
                AND CASE WHEN o.shard % coalesce(g.slots, 1) = l.slot THEN f.wanted IS NULL OR o.topic LIKE ANY (f.wanted) END
              ORDER BY o.xid, o.seq LIMIT 1000) o)
          UNION ALL
          (SELECT o.created_at FROM @{} o
           WHERE o.seq > p.next_floor AND o.seq <= p.last
             AND CASE WHEN pg_visible_in_snapshot(o.xid, p.target) THEN false
                      WHEN o.shard % coalesce(g.slots, 1) = l.slot THEN f.wanted IS NULL OR o.topic LIKE ANY (f.wanted) END
           ORDER BY o.seq LIMIT 1000)) r) late ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(h.created_at) AS oldest
    FROM (SELECT h.created_at FROM @{_held} h WHERE h.relay_group = l.relay_group ORDER BY h.seq LIMIT 1000) h) aside ON true
WHERE l.slot < coalesce(g.slots, 1) AND NOT starts_with(l.relay_group, '_')
  AND l.slot BETWEEN (SELECT 0) AND (SELECT 63)
  AND l.epoch BETWEEN (SELECT 0) AND (SELECT 9223372036854775807);

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

-- Enqueue in SQL, for services in other languages, for triggers and psql: inside the
-- caller's transaction, with the locks, the shards and the refusals of the library.
--
-- The functions that a caller names run with the rights of the role that migrated, so
-- that the caller needs USAGE of the schema and EXECUTE of the function, and no right to
-- a table. Nobody has EXECUTE until it is granted. They alone set the search path: a
-- function that sets it is slow to call, and those below are called by them.
-- See design 3.7.

-- SHA-1, which PostgreSQL has in an extension only: ids that are not UUID are hashed by it.
CREATE FUNCTION @{_sha1}(data bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    low32 CONSTANT bigint := 4294967295;
    padded bytea := data || decode('80', 'hex') || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
                         || int8send(octet_length(data)::bigint * 8);
    h0 bigint := 1732584193; h1 bigint := 4023233417; h2 bigint := 2562383102; h3 bigint := 271733878; h4 bigint := 3285377520;
    a bigint; b bigint; c bigint; d bigint; e bigint; t bigint;
    w bigint[];
BEGIN
    FOR start IN 0 .. octet_length(padded) - 64 BY 64 LOOP
        FOR i IN 0 .. 15 LOOP
            w[i] := ('x' || encode(substr(padded, start + i * 4 + 1, 4), 'hex'))::bit(32)::bigint & low32;
        END LOOP;
        FOR i IN 16 .. 79 LOOP
            t := ((w[i - 3] # w[i - 8]) # w[i - 14]) # w[i - 16];
            w[i] := ((t << 1) & low32) | (t >> 31);
        END LOOP;
        a := h0; b := h1; c := h2; d := h3; e := h4;
        FOR i IN 0 .. 79 LOOP
            t := e + w[i] + (((a << 5) & low32) | (a >> 27))
                + CASE WHEN i < 20 THEN ((b & c) | ((low32 # b) & d)) + 1518500249
                       WHEN i < 40 THEN ((b # c) # d) + 1859775393
                       WHEN i < 60 THEN (((b & c) | (b & d)) | (c & d)) + 2400959708
                       ELSE ((b # c) # d) + 3395469782 END;
            e := d; d := c; c := ((b << 30) & low32) | (b >> 2); b := a; a := t & low32;
        END LOOP;
        h0 := (h0 + a) & low32; h1 := (h1 + b) & low32; h2 := (h2 + c) & low32; h3 := (h3 + d) & low32; h4 := (h4 + e) & low32;
    END LOOP;
    RETURN substr(int8send(h0), 5) || substr(int8send(h1), 5) || substr(int8send(h2), 5)
        || substr(int8send(h3), 5) || substr(int8send(h4), 5);
END
$leat$;

-- The stored form of an id: a canonical UUID as it is, any other text as the UUIDv5 of it in
-- leat's namespace.
CREATE FUNCTION @{_stored_id}(id text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    sum bytea;
BEGIN
    IF id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RETURN id::uuid;
    END IF;
    sum := substr(@{_sha1}(decode('6c6561742d676f8e9d1c5f427a0b33d1', 'hex') || convert_to(id, 'UTF8')), 1, 16);
    sum := set_byte(sum, 6, (get_byte(sum, 6) & 15) | 80);
    sum := set_byte(sum, 8, (get_byte(sum, 8) & 63) | 128);
    RETURN encode(sum, 'hex')::uuid;
END
$leat$;

-- The advisory lock of parts: 64-bit FNV-1a over each part with its length in front, in two
-- halves, since a product of 64 bits would overflow. The prime is 2^40 + 435.
CREATE FUNCTION @{_lock}(VARIADIC parts bytea[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    low32 CONSTANT bigint := 4294967295;
    hi bigint := 3421674724;
    lo bigint := 2216829733;
    part bytea;
    n int;
BEGIN
    FOREACH part IN ARRAY parts LOOP
        n := octet_length(part);
        part := decode(lpad(to_hex(n & 255), 2, '0') || lpad(to_hex((n >> 8) & 255), 2, '0')
            || lpad(to_hex((n >> 16) & 255), 2, '0') || lpad(to_hex(n >> 24), 2, '0') || '00000000', 'hex') || part;
        FOR i IN 0 .. n + 7 LOOP
            lo := lo # get_byte(part, i);
            hi := (hi * 435 + ((lo * 435) >> 32) + ((lo & 16777215) << 8)) & low32;
            lo := (lo * 435) & low32;
        END LOOP;
    END LOOP;
    RETURN (hi << 32) | lo;
END
$leat$;

-- The shard of a key: 32-bit FNV-1a modulo 64. Its lowest six bits need the lowest six only.
CREATE FUNCTION @{_shard}(key bytea) RETURNS smallint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    sum int := 2166136261 % 64;
BEGIN
    FOR i IN 0 .. octet_length(key) - 1 LOOP
        sum := ((sum # get_byte(key, i)) * (16777619 % 64)) & 63;
    END LOOP;
    RETURN sum;
END
$leat$;

-- A new id: a UUID of version 7, by the database's clock.
CREATE FUNCTION @{_new_id}() RETURNS text
LANGUAGE sql VOLATILE AS $leat$
    SELECT encode(set_byte(r, 6, (get_byte(r, 6) & 15) | 112), 'hex')::uuid::text
    FROM (SELECT substr(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 3)
                 || substr(uuid_send(gen_random_uuid()), 7)) AS made(r)
$leat$;

-- Refuses a message that could not be stored and sent unchanged.
CREATE FUNCTION @{_refuse}(topic text, payload bytea, key text, type text, id text, headers jsonb,
    occurred_at timestamptz, not_before timestamptz) RETURNS void
LANGUAGE plpgsql STABLE AS $leat$
DECLARE
    field text;
    value text;
    reason text;
    total int := 0;
    one record;
BEGIN
    IF octet_length(topic) BETWEEN 1 AND 255 AND octet_length(payload) <= 983040 AND headers IS NULL
        AND (key IS NULL OR octet_length(key) <= 4096) AND (type IS NULL OR octet_length(type) <= 512)
        AND (id IS NULL OR octet_length(id) <= 512) AND occurred_at IS NULL AND not_before IS NULL THEN
        RETURN; -- as most are
    END IF;
    SELECT f.field, f.value, f.reason INTO field, value, reason FROM (VALUES
        ('topic', topic, CASE WHEN coalesce(topic, '') = '' THEN 'must not be empty'
                              WHEN octet_length(topic) > 255 THEN 'is longer than 255 bytes' END),
        ('id', id, CASE WHEN octet_length(id) > 512 THEN 'is longer than 512 bytes' END),
        ('key', key, CASE WHEN octet_length(key) > 4096 THEN 'is longer than 4096 bytes' END),
        ('type', type, CASE WHEN octet_length(type) > 512 THEN 'is longer than 512 bytes' END),
        ('payload', octet_length(payload) || ' bytes',
            CASE WHEN payload IS NULL THEN 'must not be NULL'
                 WHEN octet_length(payload) > 983040 THEN 'is larger than 983040 bytes' END),
        ('headers', left(headers::text, 64), CASE WHEN jsonb_typeof(headers) NOT IN ('object', 'null') THEN 'must be an object of texts' END),
        ('occurred_at', occurred_at::text, CASE WHEN NOT @{_in_calendar}(occurred_at) THEN 'must lie in the years 1 to 9999, in UTC' END),
        ('not_before', not_before::text, CASE WHEN NOT @{_in_calendar}(not_before) THEN 'must lie in the years 1 to 9999, in UTC' END)
    ) AS f(field, value, reason) WHERE f.reason IS NOT NULL LIMIT 1;
    IF reason IS NULL AND jsonb_typeof(headers) = 'object' THEN
        FOR one IN SELECT h.key AS name, h.value AS content FROM jsonb_each(headers) h LOOP
            field := 'headers[' || quote_ident(left(one.name, 64)) || ']';
            value := left(one.content::text, 64);
            total := total + octet_length(one.name) + octet_length(one.content #>> '{}');
            reason := CASE
                WHEN one.name = '' THEN 'has an empty name'
                WHEN jsonb_typeof(one.content) <> 'string' THEN 'must be a text'
                WHEN one.name IN ('event-id', 'event-type', 'event-time', 'leat_key', 'leat_not_before', '_watermill_message_uuid')
                THEN 'is set by leat itself' END;
            EXIT WHEN reason IS NOT NULL;
        END LOOP;
        IF reason IS NULL AND total > 65536 THEN
            field := 'headers'; value := total || ' bytes'; reason := 'are larger than 65536 bytes together';
        END IF;
    END IF;
    IF reason IS NOT NULL THEN
        RAISE EXCEPTION 'leat: invalid message: % % %', field, coalesce(quote_literal(left(value, 64)), 'NULL'), reason
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$leat$;

-- Whether a time can be written as RFC 3339 in UTC.
CREATE FUNCTION @{_in_calendar}(at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $leat$
    SELECT at IS NULL OR (isfinite(at) AND at >= '0001-01-01 00:00:00+00' AND at < '10000-01-01 00:00:00+00')
$leat$;

-- Takes the locks of keys, which are sorted and each there once: the outbox shared, then
-- each key; of more than 1,000 keys, the outbox as a whole. One transaction locks at most
-- 1,000 keys in calls of its own, since the server's lock table is one for the whole cluster
-- (rule N5). How many it has asked for is kept in a setting that ends with the transaction and is
-- rolled back with a savepoint; only at the limit the server is asked which it holds. A caller
-- can set the setting: it bounds mistakes, and not what a role does on purpose.
CREATE FUNCTION @{_lock_keys}(keys bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $leat$
DECLARE
    most CONSTANT int := 1000;
    asked int := coalesce(nullif(current_setting('leat.keys_asked', true), '')::int, 0);
    k bigint;
BEGIN
    IF cardinality(keys) = 0 THEN
        RETURN;
    END IF;
    IF cardinality(keys) > most THEN
        PERFORM pg_advisory_xact_lock(@{_lock}('outbox', convert_to(@{text:}, 'UTF8')));
        RETURN;
    END IF;
    IF asked + cardinality(keys) > most THEN
        SELECT count(*) INTO asked
        FROM pg_locks l
        WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ExclusiveLock'
          AND NOT (l.classid::bigint << 32 | l.objid::bigint) = ANY (keys);
        IF asked + cardinality(keys) > most THEN
            RAISE EXCEPTION 'leat: the transaction has locked too many keys: %, and the most is %', asked + cardinality(keys), most
                USING ERRCODE = 'program_limit_exceeded', HINT = 'Pass all messages to one call, or commit in between.';
        END IF;
    END IF;
    PERFORM set_config('leat.keys_asked', (asked + cardinality(keys))::text, true);
    PERFORM pg_advisory_xact_lock_shared(@{_lock}('outbox', convert_to(@{text:}, 'UTF8')));
    FOREACH k IN ARRAY keys LOOP
        PERFORM pg_advisory_xact_lock(k);
    END LOOP;
END
$leat$;

-- Stores a message whose key is locked: its number must not be drawn before (rule R3a).
CREATE FUNCTION @{_put}(topic text, payload bytea, key text, type text, id text, headers jsonb,
    occurred_at timestamptz, not_before timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $leat$
DECLARE
    stored uuid := @{_stored_id}(id);
    id_text text := CASE WHEN stored::text <> id THEN id END;
    shard smallint := @{_shard}(convert_to(coalesce(nullif(key, ''), id), 'UTF8'));
BEGIN
    key := nullif(key, '');
    type := nullif(type, '');
    headers := nullif(nullif(headers, 'null'), '{}');
    IF not_before > statement_timestamp() THEN
        INSERT INTO @{_delayed} (not_before, shard, id, id_text, topic, key, type, payload, headers, occurred_at)
        VALUES (not_before, shard, stored, id_text, topic, key, type, payload, headers, occurred_at);
    ELSE
        INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
        VALUES (shard, stored, id_text, topic, key, type, payload, headers, occurred_at);
    END IF;
END
$leat$;

-- Enqueues one message and returns its id.
CREATE FUNCTION @{_enqueue}(topic text, payload bytea, key text DEFAULT NULL, type text DEFAULT NULL, id text DEFAULT NULL,
    headers jsonb DEFAULT NULL, occurred_at timestamptz DEFAULT NULL, not_before timestamptz DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
BEGIN
    PERFORM @{_refuse}(topic, payload, key, type, id, headers, occurred_at, not_before);
    id := coalesce(nullif(id, ''), @{_new_id}());
    IF key <> '' THEN
        PERFORM @{_lock_keys}(ARRAY[@{_lock}('outbox', convert_to(@{text:}, 'UTF8'), convert_to(key, 'UTF8'))]);
    END IF;
    PERFORM @{_put}(topic, payload, key, type, id, headers, occurred_at, not_before);
    RETURN id;
END
$leat$;
COMMENT ON FUNCTION @{_enqueue}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz)
    IS 'enqueues a message in this transaction and returns its id; messages of a key are published in the order of the commits';

-- The same for a payload that is text, such as JSON: it is sent in UTF-8.
CREATE FUNCTION @{_enqueue}(topic text, payload text, key text DEFAULT NULL, type text DEFAULT NULL, id text DEFAULT NULL,
    headers jsonb DEFAULT NULL, occurred_at timestamptz DEFAULT NULL, not_before timestamptz DEFAULT NULL) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
    SELECT @{_enqueue}($1, convert_to($2, 'UTF8'), $3, $4, $5, $6, $7, $8)
$leat$;
COMMENT ON FUNCTION @{_enqueue}(text, text, text, text, text, jsonb, timestamptz, timestamptz)
    IS 'enqueues a message whose payload is text, sent in UTF-8, in this transaction and returns its id';

-- Enqueues the messages of an array, in its order, and returns their ids in that order. Two
-- calls with several keys each in one transaction can deadlock with another transaction;
-- one call with all of them cannot, since it takes all locks first and sorted.
CREATE FUNCTION @{_enqueue}(messages jsonb) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
DECLARE
    fields CONSTANT text[] := ARRAY['topic', 'payload', 'payload_base64', 'key', 'type', 'id', 'headers', 'occurred_at', 'not_before'];
    m jsonb;
    unknown text;
    payload bytea[];
    ids text[] := '{}';
    n int := 0;
BEGIN
    IF jsonb_typeof(messages) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'leat: messages must be a JSON array of objects' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR m IN SELECT jsonb_array_elements(messages) LOOP
        IF jsonb_typeof(m) <> 'object' THEN
            RAISE EXCEPTION 'leat: invalid message %: % is not an object', n, left(m::text, 64) USING ERRCODE = 'invalid_parameter_value';
        END IF;
        SELECT name INTO unknown FROM jsonb_object_keys(m) AS name WHERE name <> ALL (fields) LIMIT 1;
        IF unknown IS NOT NULL OR (m ? 'payload') = (m ? 'payload_base64') THEN
            RAISE EXCEPTION 'leat: invalid message %: %', n,
                CASE WHEN unknown IS NOT NULL THEN 'no field is called ' || quote_literal(left(unknown, 64))
                     ELSE 'needs either payload or payload_base64' END USING ERRCODE = 'invalid_parameter_value';
        END IF;
        payload[n] := coalesce(convert_to(m ->> 'payload', 'UTF8'), decode(m ->> 'payload_base64', 'base64'));
        PERFORM @{_refuse}(m ->> 'topic', payload[n], m ->> 'key', m ->> 'type', m ->> 'id', m -> 'headers',
                           (m ->> 'occurred_at')::timestamptz, (m ->> 'not_before')::timestamptz);
        ids := ids || coalesce(nullif(m ->> 'id', ''), @{_new_id}());
        n := n + 1;
    END LOOP;
    PERFORM @{_lock_keys}(ARRAY(
        SELECT DISTINCT @{_lock}('outbox', convert_to(@{text:}, 'UTF8'), convert_to(e ->> 'key', 'UTF8'))
        FROM jsonb_array_elements(messages) AS e WHERE e ->> 'key' <> '' ORDER BY 1));
    n := 0;
    FOR m IN SELECT jsonb_array_elements(messages) LOOP
        PERFORM @{_put}(m ->> 'topic', payload[n], m ->> 'key', m ->> 'type', ids[n + 1], m -> 'headers',
                        (m ->> 'occurred_at')::timestamptz, (m ->> 'not_before')::timestamptz);
        n := n + 1;
    END LOOP;
    RETURN ids;
END
$leat$;
COMMENT ON FUNCTION @{_enqueue}(jsonb)
    IS 'enqueues all messages of an array of objects with the fields of the other enqueue, and payload_base64 for bytes';

REVOKE ALL ON FUNCTION @{_sha1}(bytea), @{_stored_id}(text), @{_lock}(bytea[]), @{_shard}(bytea), @{_new_id}(),
    @{_refuse}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz), @{_in_calendar}(timestamptz), @{_lock_keys}(bigint[]),
    @{_put}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz),
    @{_enqueue}(jsonb), @{_enqueue}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz),
    @{_enqueue}(text, text, text, text, text, jsonb, timestamptz, timestamptz) FROM PUBLIC;
