INSERT INTO counters AS c (repository, events) VALUES ($1, 1) ON CONFLICT (repository) DO UPDATE SET events = c.events + 1
