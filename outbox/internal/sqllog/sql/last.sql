-- Past the row that names the life of the log.
SELECT COALESCE((SELECT seq FROM @{} WHERE seq > 0 ORDER BY seq DESC LIMIT 1), 0)
