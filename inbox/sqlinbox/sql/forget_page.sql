SELECT id, at FROM @{} WHERE consumer = ? AND id > ? ORDER BY id LIMIT 1000
