-- The latest time of a chunk. SQLite has no DELETE with a LIMIT.
SELECT MAX(expires_at) FROM (SELECT expires_at FROM @{} WHERE expires_at <= @{now} ORDER BY expires_at LIMIT ?) AS chunk
