INSERT INTO @{} (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, @{now})
