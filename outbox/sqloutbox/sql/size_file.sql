SELECT COALESCE(MAX(seq) - MIN(seq) + 1, 0) FROM @{} WHERE seq > 0
