-- A page of consumers, with what needs no look at their ids. $1 after, $2 limit.
-- shows
SELECT c.id, c.name, c.since,
  (SELECT count(*) FROM @{_watermarks} w WHERE w.consumer = c.id),
  p.parked, p.redriving, p.waiting, a.failing, greatest(p.latest, a.latest)
FROM (SELECT * FROM @{_consumers} WHERE name COLLATE "C" > $1::text COLLATE "C" ORDER BY name COLLATE "C" LIMIT $2::int) c
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE state = 'parked') AS parked, count(*) FILTER (WHERE state = 'redrive') AS redriving,
    count(*) FILTER (WHERE state = 'wait') AS waiting, max(parked_at) AS latest
  FROM @{_parked} WHERE consumer = c.id) p
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE (t.errors IS NOT NULL OR t.attempts > 1)
      AND NOT EXISTS (SELECT FROM @{} i WHERE i.consumer = t.consumer AND i.id = t.id)
      AND NOT EXISTS (SELECT FROM @{_ranges} i WHERE i.consumer = t.consumer AND i.id = t.id)) AS failing,
    max(t.last_at) AS latest
  FROM @{_attempts} t WHERE t.consumer = c.id) a
ORDER BY c.name COLLATE "C"
