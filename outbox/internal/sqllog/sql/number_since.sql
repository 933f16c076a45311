-- A text that somebody has inserted as a time is above all numbers on SQLite, unless it is made one.
SELECT seq FROM @{} WHERE seq > ? AND created_at + 0 >= ? AND shard <> -1 ORDER BY seq LIMIT 1
