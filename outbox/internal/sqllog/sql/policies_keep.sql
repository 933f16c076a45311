-- Stores another note of a group in place of the one that was read.
UPDATE @{_groups} SET policies = ? WHERE relay_group = ? AND policies = ?
