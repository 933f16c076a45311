-- A page, since there is no index of last_at. Parameters: consumer, last id of the page before.
SELECT id, last_at FROM @{_attempts} WHERE consumer = ? AND id > ? ORDER BY id LIMIT 1000
