-- rev changes in every UPDATE of the table: one that changes nothing would report no rows.
UPDATE @{_groups} SET owner = ?, epoch = epoch + 1, lease_until = @{now} + ?, topics = ?, rev = rev + 1
WHERE grp = ? AND lease_until <= @{now}
