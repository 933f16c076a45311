INSERT INTO counters (repository, events) VALUES (?, 1) ON CONFLICT (repository) DO UPDATE SET events = events + 1
