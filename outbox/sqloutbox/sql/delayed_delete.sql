DELETE FROM @{_delayed} WHERE no = ?
