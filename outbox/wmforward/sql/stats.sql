-- All of Stats in one statement. What other tables hold is counted up to ten thousand, and
-- estimated beyond that from statistics. What is pending is counted up to a thousand, and
-- estimated beyond that from the numbers that were drawn. $1 the forwarder's table, $2 group.
-- shows
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, 'offset')::regclass), 0), pg_total_relation_size($1::regclass),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = $1::regclass),
       CASE WHEN h.held < 10000 THEN h.held ELSE (SELECT greatest(10000, reltuples)::bigint FROM pg_class WHERE oid = @{text:_held}::regclass) END,
       f.retrying, f.parked,
       CASE WHEN dead.dead < 10000 THEN dead.dead ELSE (SELECT greatest(10000, reltuples)::bigint FROM pg_class WHERE oid = @{text:_dead}::regclass) END,
       h.held >= 10000 OR dead.dead >= 10000, (extract(epoch FROM clock_timestamp() - f.oldest) * 1000000)::bigint,
       (extract(epoch FROM clock_timestamp() - h.oldest) * 1000000)::bigint,
       l.slot, l.owner, l.epoch, (extract(epoch FROM l.lease_until - clock_timestamp()) * 1000000)::bigint,
       p.window_no, (extract(epoch FROM clock_timestamp() - p.opened_at) * 1000000)::bigint,
       CASE WHEN p.system_identifier <> (SELECT system_identifier FROM pg_control_system()) THEN 'the stored position belongs to another database cluster' END,
       CASE WHEN b.n IS NULL OR b.n < 1000 THEN coalesce(b.n, 0)
            ELSE greatest(1000, pg_sequence_last_value(pg_get_serial_sequence($1, 'offset')::regclass) - p.last) END,
       (extract(epoch FROM clock_timestamp() - b.oldest) * 1000000)::bigint
FROM (SELECT count(*) AS held, min(created_at) FILTER (WHERE state = 'wait') AS oldest
      FROM (SELECT state, created_at FROM @{_held} x WHERE x.relay_group = $2 ORDER BY seq LIMIT 10000) x) h
CROSS JOIN (SELECT count(*) FILTER (WHERE next_at IS NOT NULL) AS retrying, count(*) FILTER (WHERE next_at IS NULL) AS parked,
                   min(created_at) FILTER (WHERE next_at IS NOT NULL) AS oldest
            FROM (SELECT next_at, created_at FROM @{_held} x WHERE x.relay_group = $2 AND x.state <> 'wait' ORDER BY left(topic, 255), next_at LIMIT 10000) x) f
CROSS JOIN (SELECT count(*) AS dead FROM (SELECT FROM @{_dead} x WHERE x.relay_group = $2 ORDER BY seq LIMIT 10000) x) dead
LEFT JOIN @{_leases} l ON l.relay_group = $2 AND l.slot = 0
LEFT JOIN LATERAL (SELECT * FROM @{_positions} p WHERE p.relay_group = $2 AND p.slot = 0 ORDER BY p.window_no DESC LIMIT 1) p ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS n, min(least(r.created_at::timestamptz, clock_timestamp())) AS oldest
    FROM (SELECT i.created_at FROM {log} i
          WHERE i.transaction_id >= pg_snapshot_xmin(p.prev) AND NOT pg_visible_in_snapshot(i.transaction_id, p.prev)
            AND NOT (pg_visible_in_snapshot(i.transaction_id, p.target) AND i."offset" <= p.last)
          ORDER BY i.transaction_id, i."offset"
          LIMIT 1000) r) b ON p.window_no IS NOT NULL
