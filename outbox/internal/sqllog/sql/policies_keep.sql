-- Replaces the note of a group, if it still is the one that was read. Parameters: new note, group, note that was read.
UPDATE @{_groups} SET policies = ? WHERE relay_group = ? AND policies = ?
