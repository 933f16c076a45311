INSERT INTO @{_held} (grp, seq, kh, bytes, created_at, state, next_at, attempts, errors, reason, since,
    shard, id, topic, msg_key, type, payload, headers, occurred_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
