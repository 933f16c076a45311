-- All but dead records, whose state is 3.
DELETE FROM @{_held} WHERE grp = ? AND state <> 3
