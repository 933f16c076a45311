DELETE FROM @{_positions} WHERE relay_group = $1 AND slot = $2
