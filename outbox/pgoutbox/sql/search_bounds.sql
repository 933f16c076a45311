-- The first number of the log and the last.
SELECT coalesce((SELECT seq FROM @{} ORDER BY seq LIMIT 1), 0), coalesce((SELECT seq FROM @{} ORDER BY seq DESC LIMIT 1), 0)
