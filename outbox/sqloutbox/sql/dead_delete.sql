-- One that was redriven meanwhile is dead no more.
DELETE FROM @{_held} WHERE relay_group = ? AND seq = ? AND state = 3
