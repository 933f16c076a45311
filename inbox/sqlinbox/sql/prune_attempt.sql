DELETE FROM @{_attempts} WHERE consumer = ? AND id = ? AND last_at < ?
