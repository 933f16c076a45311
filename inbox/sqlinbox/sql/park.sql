INSERT INTO @{_parked} (consumer, state, tries, next_at, attempts, first_at, last_at, parked_at, errors, reason,
  reason_group, message_id, topic, key_hash, msg_key, uuid, payload, metadata, metadata_raw)
VALUES (?, ?, 0, 0, ?, COALESCE(?, @{now}), COALESCE(?, @{now}), @{now}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
