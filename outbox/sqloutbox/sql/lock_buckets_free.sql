-- Those that nobody has.
SELECT bucket FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket @{skip_locked}
