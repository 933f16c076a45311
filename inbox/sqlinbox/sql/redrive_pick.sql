-- A message that is due and not being run. Parameter: consumer.
SELECT no, tries, message_id, topic, msg_key, uuid, payload, metadata, metadata_raw FROM @{_parked}
WHERE consumer = ? AND state = 'redrive' AND next_at <= @{now} ORDER BY next_at, no LIMIT 1 @{skip_locked}
