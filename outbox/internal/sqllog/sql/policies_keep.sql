-- Replaces the note of a group that was read by another one.
UPDATE @{_groups} SET policies = ? WHERE relay_group = ? AND policies = ?
