SELECT attempts, first_at, last_at, errors FROM @{_attempts} WHERE consumer = ? AND id = ? @{for_update}
