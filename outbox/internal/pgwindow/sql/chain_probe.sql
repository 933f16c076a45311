-- As probe.sql, and whether the slots of group $3 are being changed, and which log the sequence
-- belongs to. If the sequence still stands at $4, the log is read as well: the sequence could
-- have been set back and have reached $4 again. What an idle relay would ask separately is
-- included: what is paused, whether nothing is set aside, and in the last column the statement
-- due, or NULL.
SELECT s.last,
       EXISTS (SELECT FROM pg_current_snapshot() now, pg_snapshot_xip($2::pg_snapshot) x
               WHERE pg_visible_in_snapshot(x, now)),
       pg_is_in_recovery(),
       g.next_slots IS NOT NULL,
       coalesce(pg_relation_filenode($1::oid::regclass), 0)::bigint,
       CASE WHEN s.last = $4::bigint THEN EXISTS (
           SELECT FROM (SELECT FROM @{} o
                        WHERE o.xid >= pg_snapshot_xmax($2::pg_snapshot)
                        ORDER BY o.xid, o.seq
                        LIMIT 1) r) END,
       nullif(g.paused, '{}'),
       NOT EXISTS (SELECT FROM (SELECT FROM @{_held} h WHERE h.relay_group = $3 ORDER BY h.seq LIMIT 1) r),
       {due}
FROM (SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0) AS last OFFSET 0) s
     LEFT JOIN @{_groups} g ON g.relay_group = $3
