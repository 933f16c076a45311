UPDATE @{_attempts} SET attempts = attempts - 1 WHERE consumer = ? AND id = ? AND attempts > 0
