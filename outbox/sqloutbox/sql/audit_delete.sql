DELETE FROM @{_audit} WHERE grp = ? AND no = ?
