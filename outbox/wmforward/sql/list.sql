-- Where the rows of a window are, in the order of their numbers: those above
-- prev's xmax that target sees, and those of transactions that were under way in
-- prev and had ended in target. Both by the primary key, so that the work is that
-- of the new rows however old the oldest transaction is. Sorted here, once; the
-- rows themselves are then fetched page by page. No floor: a number is drawn
-- before its transaction's xid, so none is known to be below it.
-- $1 prev, $2 target, $3 last, $4 limit.
SELECT k.transaction_id, k."offset"
FROM (SELECT i.transaction_id, i."offset"
      FROM {log} i
      WHERE i.transaction_id >= pg_snapshot_xmax($1::pg_snapshot)
        AND i.transaction_id < pg_snapshot_xmax($2::pg_snapshot)
        AND pg_visible_in_snapshot(i.transaction_id, $2::pg_snapshot)
        AND i."offset" > $3::bigint
      UNION ALL
      SELECT i.transaction_id, i."offset"
      FROM pg_snapshot_xip($1::pg_snapshot) x
      CROSS JOIN LATERAL (SELECT * FROM {log} r WHERE r.transaction_id = x AND r."offset" > $3::bigint OFFSET 0) i
      WHERE pg_visible_in_snapshot(x, $2::pg_snapshot)) k
ORDER BY k."offset"
LIMIT $4 OFFSET (@{primary})::int - 1
