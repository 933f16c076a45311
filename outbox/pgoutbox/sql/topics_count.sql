-- What a change of topics means for group $1 and slot $2 (NULL: all of them), from patterns $3 to
-- patterns $4 (LIKE): how many messages wait that only the former wants, and how many of the newest
-- 100,000 of the log are passed that only the other wants.
SELECT (SELECT count(*)
        FROM @{_standing} p
        JOIN @{} o
          ON o.xid >= pg_snapshot_xmin(p.prev) -- by index, as the view of what is pending
         AND CASE WHEN pg_visible_in_snapshot(o.xid, p.prev) THEN false
                  WHEN pg_visible_in_snapshot(o.xid, p.target) THEN o.seq > p.last
                  ELSE true END
        WHERE p.relay_group = $1 AND ($2::smallint IS NULL OR p.slot = $2::smallint) AND o.shard % p.slots = p.slot
          AND o.topic LIKE ANY ($3::text[]) AND NOT o.topic LIKE ANY ($4::text[])),
       (SELECT count(*)
        FROM @{_standing} p
        CROSS JOIN (SELECT xid, seq, shard, topic FROM @{} ORDER BY seq DESC LIMIT 100000) o
        WHERE p.relay_group = $1 AND ($2::smallint IS NULL OR p.slot = $2::smallint) AND o.shard % p.slots = p.slot
          AND o.topic LIKE ANY ($4::text[]) AND NOT o.topic LIKE ANY ($3::text[])
          AND CASE WHEN pg_visible_in_snapshot(o.xid, p.prev) THEN true
                   WHEN pg_visible_in_snapshot(o.xid, p.target) THEN o.seq <= p.last
                   ELSE false END)
WHERE @{primary}
