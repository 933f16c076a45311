SELECT a.id, a.attempts, a.first_at, a.last_at, a.errors FROM @{_attempts} a
WHERE a.consumer = ? AND a.id > ? AND a.last_at >= ? AND (? OR LENGTH(a.errors) > 2 OR a.attempts > 1)
  AND NOT EXISTS (SELECT 1 FROM @{} i WHERE i.consumer = a.consumer AND i.id = a.id)
ORDER BY a.id LIMIT ?
