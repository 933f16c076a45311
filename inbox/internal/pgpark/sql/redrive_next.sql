-- Under the key's lock: the first of the key, if it has nothing to wait for any
-- more. $1 consumer, $2 hash of the key, $3 key.
UPDATE @{_parked} SET state = 'redrive', next_at = clock_timestamp()
WHERE state = 'wait' AND no = (
  SELECT no FROM @{_parked} WHERE consumer = $1::smallint AND key_hash = $2::bigint AND key = $3::bytea ORDER BY no LIMIT 1)
