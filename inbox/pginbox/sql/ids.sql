-- Once per process: records the source of ids, if none is recorded. Returns the source recorded
-- before, and if that is not $2 the number of remembered ids, counted up to 10,000; and whether
-- it was recorded now.
WITH named AS (
  UPDATE @{_consumers} SET ids = $2::text WHERE id = $1::smallint AND ids IS NULL RETURNING 1)
SELECT coalesce(c.ids, ''), CASE WHEN c.ids <> $2::text THEN
  (SELECT count(*) FROM (SELECT FROM @{} i WHERE i.consumer = c.id LIMIT 10000) p) +
  (SELECT count(*) FROM (SELECT FROM @{_ranges} i WHERE i.consumer = c.id LIMIT 10000) r) ELSE 0 END,
  EXISTS (SELECT FROM named)
FROM @{_consumers} c WHERE c.id = $1::smallint AND @{primary}
