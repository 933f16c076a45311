SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{} WHERE seq >= ? AND id = ? AND created_at >= ? ORDER BY seq LIMIT ?
