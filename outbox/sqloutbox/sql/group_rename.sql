-- Parameters: the new name, former names, the name. The epoch ends whatever a former leader may still write.
UPDATE @{_groups} SET relay_group = ?, former = ?, epoch = epoch + 1, rev = rev + 1 WHERE relay_group = ?
