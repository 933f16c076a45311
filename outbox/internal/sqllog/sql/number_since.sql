SELECT seq FROM @{} WHERE seq > ? AND created_at >= ? AND shard >= 0 ORDER BY seq LIMIT 1
