SELECT fingerprint, reply FROM @{_notes} WHERE consumer = ? AND id = ?
