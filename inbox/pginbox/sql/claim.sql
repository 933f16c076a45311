-- One row is inserted: the message is ours, and the commit will be durable when it returns. None:
-- it was processed before, another transaction holds its lock, or synchronous_commit is off;
-- seen.sql tells which. RETURNING the setting instead would cost a portal that keeps its row. The
-- lock is only tried, so a claim never waits for a handler; it is tried in the same statement, so
-- that without it the INSERT does not run, which would wait for the other transaction's row. It
-- is released after the commit has become visible: whoever gets it next finds the row, and
-- inserts nothing, at the price of an index probe: no transaction id, no dead row. In the plain
-- table it is stored with the later time by the clocks of the server and of the process, $4 in
-- minutes: it takes both to forget it too early.
-- See rule B3 and design 12.1.
INSERT INTO @{} (consumer, id, arrived)
SELECT $1::smallint, $2::uuid, greatest((date_part('epoch', now()) / 60)::integer, $4::integer) WHERE current_setting('synchronous_commit') <> 'off' AND pg_try_advisory_xact_lock($3::bigint)
ON CONFLICT DO NOTHING
