-- SQLite's DELETE has no LIMIT.
DELETE FROM @{} WHERE seq > 0 AND seq <= ? AND 0 < ?
