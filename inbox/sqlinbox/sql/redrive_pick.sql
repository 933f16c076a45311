-- One that is due, and that nobody has in hand. Parameter: consumer.
SELECT no, tries, message_id, topic, msg_key, uuid, payload, metadata, metadata_raw FROM @{_parked}
WHERE consumer = ? AND state = 'redrive' AND next_at <= @{now} ORDER BY next_at, no LIMIT 1 @{skip_locked}
