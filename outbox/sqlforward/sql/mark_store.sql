INSERT INTO @{_marks} (name, number, uuid) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE number = VALUES(number), uuid = VALUES(uuid)
