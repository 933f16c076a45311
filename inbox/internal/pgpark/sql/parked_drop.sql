-- $1 no, $2 actor, $3 reason, $4 action, $5 further details of the actor, as JSON.
WITH d AS (
  DELETE FROM @{_parked} WHERE no = $1::bigint AND state IN ('parked', 'wait')
  RETURNING no, consumer, message_id, topic, key, attempts, errors)
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, message_id, topic, key, details)
SELECT $4::text, $2::text, $3::text, consumer, no, message_id, topic, key,
       pg_catalog.jsonb_build_object('attempts', attempts, 'errors', errors) || $5::jsonb FROM d
