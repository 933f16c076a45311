-- Nothing, if the lease is another's.
INSERT INTO @{_out} (relay_group, topic, epoch, since, cause, error)
SELECT relay_group, ?, epoch, ?, ?, ? FROM @{_groups} WHERE relay_group = ? AND owner = ? AND epoch = ?
