-- The latest time of a chunk. SQLite has no DELETE with a LIMIT.
SELECT MAX(forget_at) FROM (SELECT forget_at FROM @{} WHERE forget_at <= @{now} ORDER BY forget_at LIMIT ?) AS chunk
