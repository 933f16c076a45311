SELECT seq, shard, topic, created_at FROM @{} WHERE {list} ORDER BY seq LIMIT ?
