DELETE FROM @{_delayed} WHERE no IN ({list})
