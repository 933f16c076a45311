SELECT consumer, id FROM @{_attempts} WHERE last_at < ? LIMIT 1000
