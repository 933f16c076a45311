SELECT COUNT(*) FROM @{_locks}
