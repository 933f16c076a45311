SELECT id FROM @{_attempts} WHERE consumer = ? AND id IN ({list}) LIMIT 9223372036854775807
