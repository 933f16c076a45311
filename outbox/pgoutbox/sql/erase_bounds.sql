-- The first and the last number of the log.
SELECT coalesce((SELECT seq FROM @{} ORDER BY seq LIMIT 1), 0), coalesce((SELECT seq FROM @{} ORDER BY seq DESC LIMIT 1), 0)
WHERE @{primary}
