-- All of Stats. At most ten thousand parked messages and ten thousand being tried are read; the
-- number beyond that is unknown.
SELECT @{now}, (SELECT COUNT(*) FROM @{_consumers}), p.parked, p.redriving, p.waiting, t.failing, p.oldest,
  p.looked >= 10000 OR t.looked >= 10000
FROM (SELECT COUNT(*) AS looked, COALESCE(SUM(state = 'parked'), 0) AS parked, COALESCE(SUM(state = 'redrive'), 0) AS redriving,
        COALESCE(SUM(state = 'wait'), 0) AS waiting, COALESCE(MIN(CASE WHEN state = 'parked' THEN parked_at END), 0) AS oldest
      FROM (SELECT state, parked_at FROM @{_parked} LIMIT 10000) AS few) AS p,
  (SELECT COUNT(*) AS looked, COALESCE(SUM((LENGTH(a.errors) > 2 OR a.attempts > 1)
        AND NOT EXISTS (SELECT 1 FROM @{} i WHERE i.consumer = a.consumer AND i.id = a.id)), 0) AS failing
   FROM (SELECT consumer, id, errors, attempts FROM @{_attempts} LIMIT 10000) AS a) AS t
