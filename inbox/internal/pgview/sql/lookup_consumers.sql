-- The consumers that know ids. $1 one of them, or NULL for all.
-- shows
SELECT c.id, c.name FROM @{_consumers} c
WHERE ($1::smallint IS NULL OR c.id = $1::smallint)
  AND NOT EXISTS (SELECT FROM @{_sources} s WHERE s.consumer = c.id)
ORDER BY c.name COLLATE "C"
