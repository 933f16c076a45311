SELECT paused FROM @{_groups} WHERE relay_group = ?
