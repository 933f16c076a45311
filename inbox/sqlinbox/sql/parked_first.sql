-- Under the key's lock.
SELECT no, state, message_id, parked_at FROM @{_parked}
WHERE consumer = ? AND key_hash = ? AND topic = ? AND msg_key = ? ORDER BY no LIMIT 1
