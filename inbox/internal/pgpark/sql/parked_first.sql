-- Under the key's lock. The caller refuses to change a message that is being redriven, as its state shows.
SELECT no, state, message_id, parked_at FROM @{_parked}
WHERE consumer = $1::smallint AND key_hash = $2::bigint AND key = $3::bytea
  AND @{primary}
ORDER BY no LIMIT 1
