UPDATE @{_groups} SET owner = ?, lease_until = 0, rev = rev + 1
WHERE relay_group = ? AND owner = ? AND epoch = ?
