-- The number of held records of a group by state (heldqueue.State), each counted up to ten
-- thousand by the index on (relay_group, state), and the enqueue times of the oldest that is
-- being tried again and the oldest that waits.
SELECT 0, COUNT(*), COALESCE(MIN(created_at), 0) FROM (SELECT created_at FROM @{_held} WHERE relay_group = ? AND state = 0 LIMIT 10000) AS retrying
UNION ALL
SELECT 1, COUNT(*), COALESCE(MIN(created_at), 0) FROM (SELECT created_at FROM @{_held} WHERE relay_group = ? AND state = 1 LIMIT 10000) AS waiting
UNION ALL
SELECT 2, COUNT(*), 0 FROM (SELECT 1 FROM @{_held} WHERE relay_group = ? AND state = 2 LIMIT 10000) AS parked
UNION ALL
SELECT 3, COUNT(*), 0 FROM (SELECT 1 FROM @{_held} WHERE relay_group = ? AND state = 3 LIMIT 10000) AS dead
LIMIT 9223372036854775807
