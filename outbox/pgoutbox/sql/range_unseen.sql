-- Whether a range holds rows that snapshot $1 does not see: they may be missing in the archive.
SELECT EXISTS (SELECT FROM {range} o
               WHERE o.xid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot))
WHERE @{primary}
