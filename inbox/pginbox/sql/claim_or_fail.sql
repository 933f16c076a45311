-- The claim of a message whose statements and COMMIT follow in the same pipeline,
-- before its answer is read. If the message is not ours, or the commit would not be
-- durable, the division fails (22012) and the server skips the rest. Statements
-- before it would not do: what they return comes too late to stop the others.
-- See design 15.2.
WITH i AS (
  INSERT INTO @{} (consumer, id)
  SELECT $1::smallint, $2::uuid WHERE pg_try_advisory_xact_lock($3::bigint)
  ON CONFLICT DO NOTHING
  RETURNING current_setting('synchronous_commit') AS setting
)
SELECT 1 / count(*) FILTER (WHERE setting <> 'off') FROM i
