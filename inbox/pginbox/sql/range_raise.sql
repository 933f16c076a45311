-- It goes down by range_lower.sql alone, which whoever has looked before does not undo. $1 floor, $2 how often it had been
-- lowered.
UPDATE @{_retention} SET floor = $1 WHERE floor < $1 AND lowered = $2 RETURNING floor
