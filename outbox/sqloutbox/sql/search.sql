SELECT seq, shard, topic, msg_key, type, created_at FROM @{} WHERE {list}
