-- What was given up goes along.
UPDATE @{_held} SET relay_group = ? WHERE relay_group = ?
