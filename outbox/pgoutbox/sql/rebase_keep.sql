UPDATE @{_positions} SET system_identifier = $2 WHERE relay_group = $1
