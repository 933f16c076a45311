DELETE FROM @{_groups} WHERE grp = ?
