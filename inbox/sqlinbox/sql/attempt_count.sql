UPDATE @{_attempts} SET attempts = attempts + 1, last_at = @{now} WHERE consumer = ? AND id = ?
