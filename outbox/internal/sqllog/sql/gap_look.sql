SELECT seq FROM @{} WHERE seq BETWEEN ? AND ? @{nowait}
