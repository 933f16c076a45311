SELECT id FROM @{_consumers} ORDER BY id
