-- What is redriven, but not due within a time that was set by a clock that was ahead.
-- Parameters: consumer, microseconds.
UPDATE @{_parked} SET next_at = @{now} WHERE consumer = ? AND state = 'redrive' AND next_at > @{now} + ?
