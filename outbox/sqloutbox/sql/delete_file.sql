-- SQLite's DELETE has no LIMIT.
DELETE FROM @{} WHERE seq <= ? AND 0 < ?
