-- Parameters: the new name, former names, the name until now. The new epoch invalidates later
-- writes of a former leader.
UPDATE @{_groups} SET relay_group = ?, former = ?, epoch = epoch + 1, rev = rev + 1 WHERE relay_group = ?
