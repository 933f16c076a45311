SELECT id FROM @{_consumers} WHERE name = ?
