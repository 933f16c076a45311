SELECT count(*) FROM @{_held} WHERE relay_group = $1 AND @{primary}
