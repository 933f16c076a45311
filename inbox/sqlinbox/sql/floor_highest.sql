SELECT @{now}, MAX(floor) FROM @{_locks} WHERE bucket < ?
