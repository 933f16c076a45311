SELECT COUNT(*) FROM @{_held} WHERE relay_group = ? AND state <> ?
