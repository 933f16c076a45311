-- Writes nothing if another session has the lease.
INSERT INTO @{_out} (relay_group, topic, epoch, since, cause, error)
SELECT relay_group, ?, epoch, ?, ?, ? FROM @{_groups} WHERE relay_group = ? AND owner = ? AND epoch = ?
