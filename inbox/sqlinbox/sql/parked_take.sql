-- A handler that has just begun has its row locked: it is passed over, not waited for.
SELECT no FROM @{_parked} WHERE no = ? AND state = ? @{skip_locked}
