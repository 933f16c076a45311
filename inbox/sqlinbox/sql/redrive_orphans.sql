-- Keys whose first message waits for none.
SELECT DISTINCT topic, msg_key FROM @{_parked} w
WHERE consumer = ? AND state = 'wait' AND NOT EXISTS (
  SELECT 1 FROM @{_parked} p
  WHERE p.consumer = w.consumer AND p.key_hash = w.key_hash AND p.topic = w.topic AND p.msg_key = w.msg_key AND p.no < w.no)
LIMIT 1000
