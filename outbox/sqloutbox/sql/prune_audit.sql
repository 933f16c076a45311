SELECT relay_group, no FROM @{_audit} WHERE at < @{now} - ? ORDER BY at LIMIT ?
