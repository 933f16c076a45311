-- The first number of the log and the last.
-- shows
SELECT coalesce((SELECT seq FROM @{} ORDER BY seq LIMIT 1), 0), coalesce((SELECT seq FROM @{} ORDER BY seq DESC LIMIT 1), 0)
