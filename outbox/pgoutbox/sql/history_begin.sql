-- What a replay replays: the rows that this snapshot sees. Their numbers end at
-- the sequence's value, which is read after the snapshot was taken. $1 is the
-- sequence. Last, whether there are rows of another cluster that a rebase would adopt
-- (rebase_adopt.sql): the snapshot would leave them out.
SELECT pg_current_snapshot()::text, coalesce(pg_sequence_last_value($1::oid), 0),
       EXISTS (SELECT FROM (SELECT FROM @{} o
                            WHERE o.xid >= pg_snapshot_xmin(pg_current_snapshot()) AND NOT pg_visible_in_snapshot(o.xid, pg_current_snapshot())
                            ORDER BY o.xid, o.seq
                            LIMIT 1) r)
WHERE @{primary}
