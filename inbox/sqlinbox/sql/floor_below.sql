-- Some of the buckets whose floor is lower, and which no delivery is using. Parameters: bucket
-- that is past, buckets, floor.
SELECT bucket FROM @{_locks} WHERE bucket > ? AND bucket < ? AND floor < ? ORDER BY bucket LIMIT 64 @{skip_locked}
