DELETE FROM @{_out} WHERE relay_group = ?
