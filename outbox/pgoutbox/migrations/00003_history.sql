-- A position is worth something only in the history that wrote it: the cluster, and
-- the log as it was then. What contradicts its database counts as no position at all,
-- to relays, to maintenance and to those who look.

-- The log that the group's positions belong to: the file of its sequence, which
-- TRUNCATE … RESTART IDENTITY, ALTER SEQUENCE and a restored dump replace, and
-- nothing else does in the life of a cluster. NULL: of a release that did not note it.
ALTER TABLE @{_groups} ADD COLUMN incarnation bigint;

-- What is wrong with a position, NULL for nothing. Relays refuse what this names.
CREATE FUNCTION @{_problem}(system_identifier bigint, incarnation bigint, source_floor bigint) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN system_identifier <> (pg_control_system()).system_identifier
    THEN 'position of another cluster'
    WHEN incarnation <> pg_relation_filenode(pg_get_serial_sequence(@{text:}, 'seq')::regclass)
    THEN 'log was truncated or restored, or its sequence restarted'
    WHEN has_sequence_privilege(pg_get_serial_sequence(@{text:}, 'seq'), 'USAGE, SELECT')
     AND source_floor > coalesce(pg_sequence_last_value(pg_get_serial_sequence(@{text:}, 'seq')::regclass), 0)
    THEN 'position ahead of the log'
END;

-- Where each slot stands: its newest window, and what is wrong with it. A position
-- that is no use has settled nothing.
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
CROSS JOIN LATERAL (SELECT @{_problem}(p.system_identifier, s.incarnation, p.source_floor) AS problem OFFSET 0) w;

-- For people with psql: what each relay group has not settled yet, by slot.
CREATE OR REPLACE VIEW @{_pending} AS
SELECT p.relay_group, o.seq, coalesce(o.id_text, o.id::text) AS id, o.topic, o.key, o.type,
       octet_length(o.payload) AS payload_bytes, o.created_at, p.slot
FROM @{_standing} p
JOIN @{} o
  ON o.xid >= pg_snapshot_xmin(p.prev) -- by index: whatever prev misses is at or above its xmin
 AND NOT pg_visible_in_snapshot(o.xid, p.prev)
 AND NOT (pg_visible_in_snapshot(o.xid, p.target) AND o.seq <= p.last)
WHERE o.shard % p.slots = p.slot
  AND (p.topics IS NULL OR EXISTS (
       SELECT FROM unnest(p.topics) AS t(pattern)
       WHERE o.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')));

-- For people with psql: one row a slot. What is pending is counted up to a
-- thousand and estimated from the sequence beyond, and the oldest is the first of
-- each kind of unsettled row, so that the view stays cheap however far behind a
-- group is and however old a transaction. (SET jit = off first: to compile it takes
-- longer than to run it.) The kinds are, with T the newest window's target:
--   ahead   above what is read of the window, and not in the windows before
--   early   of transactions that were under way before the window, and are in it
--   late    of transactions under way in T, or above the next window's floor, which
--           no window holds yet although their numbers were passed
-- While there is a problem, which relays refuse, all that the log holds is ahead.
CREATE OR REPLACE VIEW @{_status} AS
SELECT l.relay_group, l.slot, l.owner, l.epoch,
       CASE WHEN l.lease_until > clock_timestamp() THEN l.lease_until - clock_timestamp() END AS lease_left,
       p.window_no, p.opened_at AS window_opened_at,
       CASE WHEN ahead.n < 1000 THEN ahead.n + early.n + late.n
            ELSE greatest(1000, (pg_sequence_last_value(pg_get_serial_sequence(@{text:}, 'seq')::regclass)
                                 - greatest(p.last, p.floor)) / coalesce(g.slots, 1)) END AS pending,
       least(ahead.oldest, early.oldest, late.oldest) AS oldest_pending,
       clock_timestamp() - least(ahead.oldest, early.oldest, late.oldest) AS lag,
       coalesce(g.slots, 1) AS slots, g.next_slots, g.topics, p.problem
FROM @{_leases} l
LEFT JOIN @{_groups} g ON g.relay_group = l.relay_group
LEFT JOIN LATERAL (SELECT * FROM @{_standing} p
                   WHERE p.relay_group = l.relay_group AND p.slot = l.slot) p ON true
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
