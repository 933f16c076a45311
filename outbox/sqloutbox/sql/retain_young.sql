-- The first message from a number on that is young. A time beyond the upper bound is not believed.
SELECT seq FROM @{} WHERE seq >= ? AND created_at + 0 >= ? AND created_at + 0 <= ? AND shard <> -1 ORDER BY seq LIMIT 1
