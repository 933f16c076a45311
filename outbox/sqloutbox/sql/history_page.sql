SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{} WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?
