-- The first number in a window with prev = $1, or in a later one: such rows are at or above its
-- xmin, which is found in the index on xid.
SELECT coalesce(min(o.seq + 0), $2::bigint + 1) FROM @{} o
WHERE o.xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)
  AND @{primary}
