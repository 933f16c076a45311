DELETE FROM @{_groups} WHERE relay_group = ?
