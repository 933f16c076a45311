SELECT bucket FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket @{for_update}
