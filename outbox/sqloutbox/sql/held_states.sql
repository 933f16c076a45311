SELECT state, COUNT(*), MIN(created_at) FROM @{_held} WHERE grp = ? GROUP BY state
