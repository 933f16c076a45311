DELETE FROM @{_audit} WHERE relay_group = ? AND no = ?
