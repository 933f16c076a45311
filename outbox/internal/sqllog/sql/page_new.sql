SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{} WHERE seq > ? ORDER BY seq LIMIT ?
