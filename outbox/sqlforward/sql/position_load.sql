SELECT last, gaps, @{now} FROM @{_positions} WHERE name = ?
