-- A page, since there is no index of last_at. Parameters: consumer, id that is past.
SELECT id, last_at FROM @{_attempts} WHERE consumer = ? AND id > ? ORDER BY id LIMIT 1000
