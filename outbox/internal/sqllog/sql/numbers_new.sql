SELECT seq FROM @{} WHERE @{same_server} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
