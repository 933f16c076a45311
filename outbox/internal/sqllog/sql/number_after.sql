SELECT seq, created_at FROM @{} WHERE seq > ? ORDER BY seq LIMIT 1
