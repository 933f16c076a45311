-- One row: the message is ours. None: it was processed before, or another
-- transaction holds its lock.
-- The lock is only tried, so nobody waits for a handler; it is tried in the same
-- statement, so that without it the INSERT does not run, which would wait for the
-- other transaction's row. It is released after the commit has become visible:
-- whoever gets it next finds the row, and inserts nothing, at the price of an
-- index probe: no transaction id, no dead row.
-- The setting is what tells whether the commit will be durable when it returns.
-- See rule B3 and design 12.1.
INSERT INTO @{} (consumer, id)
SELECT $1::smallint, $2::uuid WHERE pg_try_advisory_xact_lock($3::bigint)
ON CONFLICT DO NOTHING
RETURNING current_setting('synchronous_commit')
