UPDATE @{} SET id = ? WHERE seq = ?
