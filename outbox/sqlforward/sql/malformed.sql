INSERT INTO @{_malformed} (name, number, uuid, payload, reason, at) VALUES (?, ?, ?, ?, ?, @{now})
