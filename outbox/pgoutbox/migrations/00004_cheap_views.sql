-- The views cost a few index probes a slot, and the planner must know it: what it takes
-- for dear it compiles (jit), for seconds, and the bounds are unknown to it until the view
-- runs. So conditions that hold for every row, such as BETWEEN (SELECT 0) AND (SELECT 63),
-- tell it how few rows there are: half a percent for each. A CASE around a filter says that
-- half of the rows pass, so that a LIMIT is met soon.

-- For people with psql: what each relay group has not settled yet, by slot.
CREATE OR REPLACE VIEW @{_pending} AS
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

-- For people with psql: one row a slot. What is pending is counted up to a
-- thousand and estimated beyond, from the numbers that each range holds: where a range was
-- closed, those up to its end were never drawn. The oldest is the first of
-- each kind of unsettled row, so that the view stays cheap however far behind a
-- group is and however old a transaction. The kinds are, with T the newest window's target:
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
       coalesce(g.slots, 1) AS slots, g.next_slots, g.topics, p.problem
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
WHERE l.slot < coalesce(g.slots, 1) AND NOT starts_with(l.relay_group, '_')
  AND l.slot BETWEEN (SELECT 0) AND (SELECT 63)
  AND l.epoch BETWEEN (SELECT 0) AND (SELECT 9223372036854775807);
