DELETE FROM @{} WHERE seq <= ?
