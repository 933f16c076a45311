SELECT seq FROM @{} WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?
