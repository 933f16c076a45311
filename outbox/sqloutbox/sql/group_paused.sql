SELECT paused FROM @{_groups} WHERE grp = ?
