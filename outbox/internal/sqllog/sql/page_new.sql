SELECT seq, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at
FROM @{} WHERE @{same_server} AND seq > ? ORDER BY seq LIMIT ?
