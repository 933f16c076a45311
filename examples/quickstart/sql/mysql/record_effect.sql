INSERT INTO effects (event_id, repository, n, at) VALUES (?, ?, ?, ?)
