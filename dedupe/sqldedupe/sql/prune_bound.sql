-- The latest time of a chunk that has expired by this clock and the process's. SQLite has no DELETE with a LIMIT.
SELECT MAX(expires_at) FROM (SELECT expires_at FROM @{} WHERE expires_at <= @{now} AND expires_at <= ? ORDER BY expires_at LIMIT ?) AS chunk
