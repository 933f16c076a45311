-- Deletes a parked message, in any state. Whoever runs it has its row locked, and is waited for. The
-- note has neither key nor errors. $1 no, $2 actor, $3 reason.
WITH d AS (
  DELETE FROM @{_parked} WHERE no = $1::bigint
  RETURNING no, consumer, message_id, topic)
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, message_id, topic, details)
SELECT 'erase', $2::text, $3::text, consumer, no, message_id, topic, '{"from": "parked"}' FROM d
