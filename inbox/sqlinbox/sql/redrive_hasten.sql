-- Makes redriven messages due whose time is further away than the given one: it was set by a
-- clock that was ahead. Parameters: consumer, microseconds.
UPDATE @{_parked} SET next_at = @{now} WHERE consumer = ? AND state = 'redrive' AND next_at > @{now} + ?
