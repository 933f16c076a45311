UPDATE @{_groups} SET last = ?, gaps = ?, rev = rev + 1
WHERE grp = ? AND owner = ? AND epoch = ? AND lease_until > @{now}
