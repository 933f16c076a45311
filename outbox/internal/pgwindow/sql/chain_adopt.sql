-- Notes which log the position of group $1 belongs to, if nobody has.
UPDATE @{_groups} SET incarnation = $2 WHERE relay_group = $1 AND incarnation IS NULL
