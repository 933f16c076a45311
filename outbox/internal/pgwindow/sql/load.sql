-- The newest window, always read anew after a claim and after any connection error: the server
-- may have lost in a crash what a process remembers.
SELECT window_no, prev::text, target::text, floor, next_floor, source_floor, last, opened_by::text, system_identifier
FROM @{_positions}
WHERE relay_group = $1 AND slot = $2 AND @{primary}
ORDER BY window_no DESC
LIMIT 1
