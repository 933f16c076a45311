DELETE FROM @{_positions} WHERE name = ?
