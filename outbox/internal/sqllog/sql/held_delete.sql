DELETE FROM @{_held} WHERE grp = ? AND seq = ?
