-- Rows of messages that were processed are still there for a while, and are left out.
-- $1 consumer, $2 last attempt since or NULL, $3 those that have not failed as well, $4 after, $5 limit.
-- shows
SELECT a.id::text, a.attempts, a.first_at, a.last_at, coalesce(a.errors, '[]')::text
FROM @{_attempts} a
WHERE a.consumer = $1::smallint AND a.id > $4::uuid
  AND ($2::timestamptz IS NULL OR a.last_at >= $2::timestamptz)
  AND ($3::boolean OR a.errors IS NOT NULL OR a.attempts > 1)
  AND NOT EXISTS (SELECT FROM @{} i WHERE i.consumer = a.consumer AND i.id = a.id)
  AND NOT EXISTS (SELECT FROM @{_ranges} i WHERE i.consumer = a.consumer AND i.id = a.id)
ORDER BY a.id LIMIT $5::int
