-- The row's disappearance is the claim: it commits with the effects. Whoever
-- finds the row locked, gone or counted again leaves it to the other.
-- $1 no, $2 tries.
WITH d AS (
  DELETE FROM @{_parked}
  WHERE no = (SELECT no FROM @{_parked} WHERE no = $1::bigint AND tries = $2::int AND state = 'redrive' FOR UPDATE SKIP LOCKED)
  RETURNING no, consumer, message_id, topic, key, attempts),
a AS (
  INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, message_id, topic, key, details)
  SELECT 'done', $3::text, '', consumer, no, message_id, topic, key, pg_catalog.jsonb_build_object('attempts', attempts) FROM d)
SELECT current_setting('synchronous_commit') FROM d
