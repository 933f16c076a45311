-- The new epoch invalidates later writes of a former leader.
UPDATE @{_groups} SET last = ?, gaps = ?, epoch = epoch + 1, rev = rev + 1 WHERE relay_group = ?
