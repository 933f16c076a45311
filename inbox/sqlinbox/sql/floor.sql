SELECT floor FROM @{_locks} WHERE bucket = ?
