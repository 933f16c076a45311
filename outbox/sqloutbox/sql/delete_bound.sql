SELECT seq FROM @{} WHERE seq > 0 AND seq <= ? ORDER BY seq LIMIT ?
