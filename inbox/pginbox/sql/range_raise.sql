-- It never goes down.
UPDATE @{_retention} SET floor = $1 WHERE floor < $1 RETURNING floor
