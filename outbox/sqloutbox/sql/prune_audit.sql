SELECT grp, no FROM @{_audit} WHERE at < @{now} - ? ORDER BY at LIMIT ?
