-- Parameters: after, limit.
SELECT c.name, c.since, (SELECT COUNT(*) FROM @{} i WHERE i.consumer = c.id),
  (SELECT COUNT(*) FROM @{_parked} p WHERE p.consumer = c.id AND p.state = 'parked'),
  (SELECT COUNT(*) FROM @{_parked} p WHERE p.consumer = c.id AND p.state = 'redrive'),
  (SELECT COUNT(*) FROM @{_parked} p WHERE p.consumer = c.id AND p.state = 'wait'),
  (SELECT COUNT(*) FROM @{_attempts} a WHERE a.consumer = c.id AND (LENGTH(a.errors) > 2 OR a.attempts > 1)
    AND NOT EXISTS (SELECT 1 FROM @{} i WHERE i.consumer = a.consumer AND i.id = a.id)),
  COALESCE((SELECT MAX(i.at) FROM @{} i WHERE i.consumer = c.id), 0),
  COALESCE((SELECT MAX(p.parked_at) FROM @{_parked} p WHERE p.consumer = c.id), 0),
  COALESCE((SELECT MAX(a.last_at) FROM @{_attempts} a WHERE a.consumer = c.id), 0)
FROM @{_consumers} c WHERE c.name > ? ORDER BY c.name LIMIT ?
