-- Under the key's lock. A message that is being run is locked: people get told.
SELECT no, state, message_id, parked_at FROM @{_parked}
WHERE consumer = $1::smallint AND key_hash = $2::bigint AND key = $3::bytea
  AND @{primary}
ORDER BY no LIMIT 1
