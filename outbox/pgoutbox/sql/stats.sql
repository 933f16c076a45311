-- All of Stats in one statement, whose work is bounded however long the log is and however many
-- records wait in other tables. Rows of other tables are counted up to ten thousand, from
-- indexes alone. Beyond that, they are estimated: the statistics of the table, less what was
-- counted of other groups. The log itself is looked at by the view, which is cheap. Each ORDER
-- BY is that of an index: without it, counting a group that holds little could walk the whole
-- table if another group holds much.
-- shows
WITH g AS MATERIALIZED (
    SELECT relay_group FROM @{_groups} WHERE NOT starts_with(relay_group, '_')
    UNION
    SELECT relay_group FROM @{_leases} WHERE NOT starts_with(relay_group, '_')
), counted AS MATERIALIZED (
    SELECT g.relay_group, h.held, f.retrying, f.parked, dead.dead,
           (extract(epoch FROM clock_timestamp() - f.oldest) * 1000000.0)::bigint AS oldest_retried,
           (extract(epoch FROM clock_timestamp() - h.oldest) * 1000000.0)::bigint AS oldest_waiting
    FROM g
    CROSS JOIN LATERAL (SELECT count(*) AS held, min(created_at) FILTER (WHERE state = 'wait') AS oldest FROM (
        SELECT state, created_at FROM @{_held} x WHERE x.relay_group = g.relay_group ORDER BY seq LIMIT 10000) x) h
    CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE next_at IS NOT NULL) AS retrying,
                               count(*) FILTER (WHERE next_at IS NULL) AS parked,
                               min(created_at) FILTER (WHERE next_at IS NOT NULL) AS oldest
        FROM (SELECT next_at, created_at FROM @{_held} x
              WHERE x.relay_group = g.relay_group AND x.state <> 'wait'
              ORDER BY left(topic, 255), next_at LIMIT 10000) x) f
    CROSS JOIN LATERAL (SELECT count(*) AS dead FROM (
        SELECT seq FROM @{_dead} x WHERE x.relay_group = g.relay_group ORDER BY seq LIMIT 10000) x) dead
), more AS MATERIALIZED ( -- for each group that has more than was counted
    SELECT ((SELECT reltuples FROM pg_class WHERE oid = @{text:_held}::regclass)
            - coalesce(sum(held) FILTER (WHERE held < 10000), 0)) / nullif(count(*) FILTER (WHERE held >= 10000), 0) AS held,
           ((SELECT reltuples FROM pg_class WHERE oid = @{text:_dead}::regclass)
            - coalesce(sum(dead) FILTER (WHERE dead < 10000), 0)) / nullif(count(*) FILTER (WHERE dead >= 10000), 0) AS dead
    FROM counted
)
SELECT l.last_seq, t.bytes, t.rows, t.ranges, t.ahead,
       CASE WHEN d.delayed < 10000 THEN d.delayed
            ELSE (SELECT greatest(10000, reltuples)::bigint FROM pg_class WHERE oid = @{text:_delayed}::regclass) END,
       d.delayed >= 10000,
       coalesce((SELECT owner FROM @{_leases} WHERE relay_group = '_maintenance' AND clock_timestamp() BETWEEN lease_from AND lease_until), ''),
       s.relay_group, s.held, s.retrying, s.parked, s.dead, s.estimated, s.oldest_retried, s.oldest_waiting,
       s.slot, s.owner, s.epoch, s.lease_left, s.window_no, s.window_age, s.pending, s.lag, s.problem
FROM (SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(@{text:}, 'seq')::regclass), 0) AS last_seq) l
CROSS JOIN LATERAL (
    SELECT coalesce(sum(pg_total_relation_size(p.relid)), 0)::bigint AS bytes,
           coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint AS rows, count(b.bound) AS ranges,
           count(*) FILTER (WHERE coalesce(substring(b.bound FROM 'FROM \(''(\d+)''\)')::bigint, 1) > l.last_seq
                              AND b.bound ~ 'TO \(''\d+''\)') AS ahead
    FROM pg_partition_tree(@{text:}::regclass) p JOIN pg_class c ON c.oid = p.relid
    CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound OFFSET 0) b
    WHERE p.isleaf) t
CROSS JOIN (SELECT count(*) AS delayed FROM (SELECT FROM @{_delayed} ORDER BY not_before, no LIMIT 10000) x) d
LEFT JOIN (
    SELECT c.relay_group, c.retrying, c.parked, c.oldest_retried, c.oldest_waiting,
           CASE WHEN c.held < 10000 THEN c.held ELSE greatest(10000, more.held)::bigint END AS held,
           CASE WHEN c.dead < 10000 THEN c.dead ELSE greatest(10000, more.dead)::bigint END AS dead,
           c.held >= 10000 OR c.dead >= 10000 AS estimated, -- held includes what failed
           v.slot, v.owner, v.epoch, v.window_no, v.pending, v.problem,
           (extract(epoch FROM v.lease_left) * 1000000.0)::bigint AS lease_left,
           (extract(epoch FROM clock_timestamp() - v.window_opened_at) * 1000000.0)::bigint AS window_age,
           (extract(epoch FROM v.lag) * 1000000.0)::bigint AS lag
    FROM counted c
    CROSS JOIN more
    LEFT JOIN @{_status} v ON v.relay_group = c.relay_group
) s ON true
ORDER BY s.relay_group, s.slot
