@{insert_ignore} @{} (seq, shard, id, topic, msg_key, type, payload, headers, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, @{now})
