UPDATE @{_groups} SET lease_from = @{now} - ?, lease_until = @{now} + ?, rev = ?
WHERE relay_group = ? AND owner = ? AND epoch = ? AND rev >= ? AND lease_until > @{now}
