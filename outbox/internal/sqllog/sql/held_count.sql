SELECT COUNT(*) FROM @{_held} WHERE grp = ? AND state <> ?
