-- All except dead records, whose state is 3.
DELETE FROM @{_held} WHERE relay_group = ? AND state <> 3
