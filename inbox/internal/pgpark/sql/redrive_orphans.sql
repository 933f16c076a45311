-- Keys whose first message waits for none.
SELECT DISTINCT w.topic, w.key FROM @{_parked} w
WHERE w.consumer = $1::smallint AND w.state = 'wait' AND @{primary} AND NOT EXISTS (
  SELECT FROM @{_parked} p
  WHERE p.consumer = $1::smallint AND p.key_hash = w.key_hash AND p.key = w.key AND p.no < w.no)
LIMIT 1000
