-- Hides the message from other processes for a while, until its transaction has locked it.
-- Parameters: microseconds, number.
UPDATE @{_parked} SET tries = tries + 1, attempts = attempts + 1, last_at = @{now}, next_at = @{now} + ? WHERE no = ?
