SELECT seq FROM @{} WHERE seq <= ? ORDER BY seq LIMIT ?
