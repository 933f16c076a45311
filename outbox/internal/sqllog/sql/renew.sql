UPDATE @{_groups} SET lease_until = @{now} + ?, rev = rev + 1
WHERE grp = ? AND owner = ? AND epoch = ? AND lease_until > @{now}
