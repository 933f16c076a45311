-- As many rows as ids: all messages are ours, and the commit will be durable. Fewer:
-- another transaction holds the lock of one, or synchronous_commit is off. One that was
-- processed before is an error, 23505. A batch that is not ours altogether is rolled back, and
-- claim_batch.sql tells the messages apart. Without ON CONFLICT the row need not be looked for
-- before it is inserted, and without RETURNING nothing is kept to answer with: most of what a
-- claim costs in addition to its rows. See rule B8 and design 15.3.
INSERT INTO @{} (consumer, id, arrived)
SELECT $1::smallint, id, greatest((date_part('epoch', now()) / 60)::integer, $4::integer) FROM unnest($2::uuid[], $3::bigint[]) AS m(id, h)
WHERE current_setting('synchronous_commit') <> 'off' AND pg_try_advisory_xact_lock(h)
