-- $1 consumer or NULL for all, $2 message id.
-- shows
SELECT p.no, c.name, p.attempts, p.first_at, p.last_at, p.errors::text
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE p.message_id = $2::bytea AND ($1::smallint IS NULL OR p.consumer = $1::smallint)
ORDER BY p.no LIMIT 10000
