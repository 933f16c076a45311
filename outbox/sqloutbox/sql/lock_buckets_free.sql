-- Locks those of the buckets that no other transaction has locked.
SELECT bucket FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket LIMIT 9223372036854775807 @{skip_locked}
