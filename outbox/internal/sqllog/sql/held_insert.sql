INSERT INTO @{_held} (relay_group, seq, key_hash, bytes, created_at, state, next_at, attempts, errors, reason, since,
    shard, id, topic, msg_key, type, payload, headers, occurred_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
