SELECT MIN(not_before) - @{now} FROM @{_delayed}
