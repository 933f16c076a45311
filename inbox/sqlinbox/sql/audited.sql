SELECT 1 FROM @{_audit} WHERE no = ?
