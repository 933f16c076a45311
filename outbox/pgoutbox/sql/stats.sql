-- All of Stats in one statement. What stands beside the log is counted up to a
-- hundred thousand, from indexes alone; the log itself is looked at by the view,
-- which is cheap however long the log is.
WITH g AS MATERIALIZED (
    SELECT relay_group FROM @{_groups} WHERE NOT starts_with(relay_group, '_')
    UNION
    SELECT relay_group FROM @{_leases} WHERE NOT starts_with(relay_group, '_')
)
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(@{text:}, 'seq')::regclass), 0),
       t.bytes, t.rows, d.delayed,
       coalesce((SELECT owner FROM @{_leases} WHERE relay_group = '_maintenance' AND lease_until > clock_timestamp()), ''),
       s.relay_group, s.held, s.retrying, s.parked, s.dead, s.oldest_retried,
       s.slot, s.owner, s.epoch, s.lease_left, s.window_no, s.window_age, s.pending, s.lag, s.problem
FROM (SELECT coalesce(sum(pg_total_relation_size(p.relid)), 0)::bigint AS bytes,
             coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint AS rows
      FROM pg_partition_tree(@{text:}::regclass) p JOIN pg_class c ON c.oid = p.relid
      WHERE p.isleaf) t
CROSS JOIN (SELECT count(*) AS delayed FROM (SELECT FROM @{_delayed} LIMIT 100000) x) d
LEFT JOIN (
    SELECT g.relay_group, h.held, f.retrying, f.parked, dead.dead,
           (extract(epoch FROM clock_timestamp() - f.oldest) * 1000000)::bigint AS oldest_retried,
           v.slot, v.owner, v.epoch, v.window_no, v.pending, v.problem,
           (extract(epoch FROM v.lease_left) * 1000000)::bigint AS lease_left,
           (extract(epoch FROM clock_timestamp() - v.window_opened_at) * 1000000)::bigint AS window_age,
           (extract(epoch FROM v.lag) * 1000000)::bigint AS lag
    FROM g
    CROSS JOIN LATERAL (SELECT count(*) AS held FROM (
        SELECT seq FROM @{_held} x WHERE x.relay_group = g.relay_group LIMIT 100000) x) h
    CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE next_at IS NOT NULL) AS retrying,
                               count(*) FILTER (WHERE next_at IS NULL) AS parked,
                               min(created_at) FILTER (WHERE next_at IS NOT NULL) AS oldest
        FROM (SELECT next_at, created_at FROM @{_held} x
              WHERE x.relay_group = g.relay_group AND x.state <> 'wait' LIMIT 100000) x) f
    CROSS JOIN LATERAL (SELECT count(*) AS dead FROM (
        SELECT seq FROM @{_dead} x WHERE x.relay_group = g.relay_group LIMIT 100000) x) dead
    LEFT JOIN @{_status} v ON v.relay_group = g.relay_group
) s ON true
ORDER BY s.relay_group, s.slot
