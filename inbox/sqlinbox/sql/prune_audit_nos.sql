DELETE FROM @{_audit} WHERE no IN ({list})
