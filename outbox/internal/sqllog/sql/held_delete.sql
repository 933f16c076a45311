DELETE FROM @{_held} WHERE relay_group = ? AND seq = ?
