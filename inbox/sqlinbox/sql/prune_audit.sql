SELECT no FROM @{_audit} WHERE at < ? ORDER BY at LIMIT 500
