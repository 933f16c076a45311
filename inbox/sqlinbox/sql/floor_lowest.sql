SELECT @{now}, MIN(floor) FROM @{_locks} WHERE bucket < ?
