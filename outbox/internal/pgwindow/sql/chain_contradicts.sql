-- Whether the log holds a row that no log can hold which a window with target $1 and
-- next_floor $2 was read from: one of a transaction at or above the target's xmax whose
-- number is not above that floor (see the package comment). Then its numbers began anew.
-- Those that were drawn first since have low transaction ids, so that a hundred are
-- enough to look at, however much is waiting.
-- See design 2.7.
SELECT EXISTS (
    SELECT FROM (SELECT o.seq FROM @{} o
                 WHERE o.xid >= pg_snapshot_xmax($1::pg_snapshot)
                 ORDER BY o.xid, o.seq
                 LIMIT 100) r
    WHERE r.seq <= $2::bigint)
