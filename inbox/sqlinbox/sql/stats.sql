SELECT @{now}, (SELECT COUNT(*) FROM @{_consumers}),
  (SELECT COUNT(*) FROM @{_parked} WHERE state = 'parked'), (SELECT COUNT(*) FROM @{_parked} WHERE state = 'redrive'),
  (SELECT COUNT(*) FROM @{_parked} WHERE state = 'wait'),
  (SELECT COUNT(*) FROM @{_attempts} a WHERE (LENGTH(a.errors) > 2 OR a.attempts > 1)
    AND NOT EXISTS (SELECT 1 FROM @{} i WHERE i.consumer = a.consumer AND i.id = a.id)),
  COALESCE((SELECT MIN(parked_at) FROM @{_parked} WHERE state = 'parked'), 0)
