SELECT id FROM @{_attempts} WHERE consumer = ? AND id IN ({list})
