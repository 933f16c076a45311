DELETE FROM @{_members} WHERE relay_group = $1 AND member = $2
