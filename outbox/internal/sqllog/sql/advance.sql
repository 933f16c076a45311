UPDATE @{_groups} SET last = ?, gaps = ?, rev = ?
WHERE relay_group = ? AND owner = ? AND epoch = ? AND rev >= ? AND lease_until > @{now}
