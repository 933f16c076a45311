-- The last message between two numbers that is old.
SELECT seq FROM @{} WHERE seq > ? AND seq < ? AND created_at + 0 < ? AND shard <> -1 ORDER BY seq DESC LIMIT 1
