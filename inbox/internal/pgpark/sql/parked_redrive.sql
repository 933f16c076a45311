-- $1 no, $2 actor, $3 reason, $4 further details of the actor, as JSON.
WITH r AS (
  UPDATE @{_parked} SET state = 'redrive', next_at = clock_timestamp(), tries = 0
  WHERE no = $1::bigint AND state = 'parked'
  RETURNING no, consumer, message_id, topic, key)
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, message_id, topic, key, details)
SELECT 'redrive', $2::text, $3::text, consumer, no, message_id, topic, key, nullif($4::jsonb, '{}') FROM r
