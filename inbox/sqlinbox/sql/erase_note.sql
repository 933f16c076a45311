DELETE FROM @{_notes} WHERE consumer = ? AND id = ?
