UPDATE @{_held} SET state = ?, next_at = ?, attempts = ?, errors = ?, reason = ?, since = ? WHERE relay_group = ? AND seq = ?
