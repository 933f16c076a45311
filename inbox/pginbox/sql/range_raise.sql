-- Only range_lower.sql lowers the floor, and a process that read the floor before does not undo
-- that. $1 floor, $2 how often it had been lowered.
UPDATE @{_retention} SET floor = $1 WHERE floor < $1 AND lowered = $2 RETURNING floor
