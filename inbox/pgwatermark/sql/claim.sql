-- One row: the message is ours. None: it was processed before, or one before it
-- was not, or another transaction has the partition's lock, or there is no row.
-- Every message up to the one that the session delivered before this, $6, must be
-- processed ($6 < next_off), and this one not yet (next_off <= $4). Without the
-- first condition a message that overtakes its predecessor makes that one a
-- duplicate.
-- The lock is only tried, and in the same statement: without it no row is
-- touched, which would wait for another handler. The snapshot may be older than
-- the lock. Then READ COMMITTED tests the conditions again on the row as it is by now, and the
-- higher levels fail with 40001; neither relies on the row as it was. It is not an upsert: a
-- row that appears here would say that all before it is done. The setting is what tells whether
-- the commit will be durable when it returns. See rule B7 and design 14.1.
WITH l AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($5::bigint) AS ok)
UPDATE @{_watermarks} w SET next_off = $4::bigint + 1
FROM l
WHERE l.ok AND w.consumer = $1::smallint AND w.source = $2::uuid AND w.part = $3::integer
  AND w.next_off <= $4::bigint AND w.next_off > $6::bigint
RETURNING current_setting('synchronous_commit')
