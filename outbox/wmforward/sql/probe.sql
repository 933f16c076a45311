-- Read-only look for a row that no window up to target $1 holds. Those are above
-- its xmax, or of a transaction that was under way in it and has ended. The
-- sequence says nothing here: a number is drawn before its transaction's xid, so
-- that it may be old when its row appears. While no transaction has ended
-- since, the table is not looked at.
SELECT pg_is_in_recovery(),
       (pg_snapshot_xmax(now) > pg_snapshot_xmax($1::pg_snapshot)
        AND EXISTS (SELECT FROM {log} i WHERE i.transaction_id >= pg_snapshot_xmax($1::pg_snapshot)))
       OR EXISTS (SELECT FROM pg_snapshot_xip($1::pg_snapshot) x
                  CROSS JOIN LATERAL (SELECT FROM {log} i WHERE i.transaction_id = x LIMIT 1) r
                  WHERE pg_visible_in_snapshot(x, now))
FROM pg_current_snapshot() now
