REPLACE INTO @{_marks} (consumer_group, topic, source, part, next_off, token) VALUES (?, ?, ?, ?, ?, ?)
