UPDATE @{_attempts} SET errors = ? WHERE consumer = ? AND id = ?
