-- One that was redriven meanwhile is dead no more.
DELETE FROM @{_held} WHERE grp = ? AND seq = ? AND state = 3
