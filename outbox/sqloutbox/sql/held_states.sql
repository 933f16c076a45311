-- What a group holds by state (heldqueue.State), each counted up to ten thousand by the index on
-- (relay_group, state), and when the oldest was enqueued of those that are tried again, and of
-- those that wait.
SELECT 0, COUNT(*), COALESCE(MIN(created_at), 0) FROM (SELECT created_at FROM @{_held} WHERE relay_group = ? AND state = 0 LIMIT 10000) AS retrying
UNION ALL
SELECT 1, COUNT(*), COALESCE(MIN(created_at), 0) FROM (SELECT created_at FROM @{_held} WHERE relay_group = ? AND state = 1 LIMIT 10000) AS waiting
UNION ALL
SELECT 2, COUNT(*), 0 FROM (SELECT 1 FROM @{_held} WHERE relay_group = ? AND state = 2 LIMIT 10000) AS parked
UNION ALL
SELECT 3, COUNT(*), 0 FROM (SELECT 1 FROM @{_held} WHERE relay_group = ? AND state = 3 LIMIT 10000) AS dead
LIMIT 9223372036854775807
