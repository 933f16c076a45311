INSERT INTO counters (repository, events) VALUES (?, 1) ON DUPLICATE KEY UPDATE events = events + 1
