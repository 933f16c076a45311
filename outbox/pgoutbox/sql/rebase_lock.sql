SELECT FROM @{_groups} WHERE relay_group = $1 FOR UPDATE
