-- The epoch ends whatever a former leader may still write.
UPDATE @{_groups} SET last = ?, gaps = ?, epoch = epoch + 1, rev = rev + 1 WHERE relay_group = ?
