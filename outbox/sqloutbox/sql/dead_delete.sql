-- A record that was redriven in the meantime is no longer dead.
DELETE FROM @{_held} WHERE relay_group = ? AND seq = ? AND state = 3
