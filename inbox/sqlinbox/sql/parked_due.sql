UPDATE @{_parked} SET state = 'redrive', next_at = @{now}, tries = 0 WHERE no = ? AND state = ?
