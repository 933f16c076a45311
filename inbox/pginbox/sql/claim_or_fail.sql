-- The claim of a message whose statements and COMMIT follow in the same pipeline,
-- before its answer is read. If the message is not ours, it fails and the server skips
-- the rest: by a division by zero (22012) if its lock is held or the commit would not be
-- durable, by the key (23505) if it was processed before. Statements before it would not
-- do: what they return comes too late to stop the others.
-- See design 15.2.
INSERT INTO @{} (consumer, id, arrived)
SELECT $1::smallint, $2::uuid, greatest((date_part('epoch', now()) / 60)::integer, $4::integer)
WHERE 1 / (current_setting('synchronous_commit') <> 'off' AND pg_try_advisory_xact_lock($3::bigint))::int = 1
