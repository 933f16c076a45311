-- Those that are free.
SELECT bucket FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket LIMIT 9223372036854775807 @{skip_locked}
