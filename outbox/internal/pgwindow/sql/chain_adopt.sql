-- Records which log the position of group $1 belongs to, if that is not recorded yet.
UPDATE @{_groups} SET incarnation = $2 WHERE relay_group = $1 AND incarnation IS NULL
