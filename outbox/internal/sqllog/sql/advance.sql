UPDATE @{_groups} SET last = ?, gaps = ?, rev = ?
WHERE grp = ? AND owner = ? AND epoch = ? AND rev >= ? AND lease_until > @{now}
