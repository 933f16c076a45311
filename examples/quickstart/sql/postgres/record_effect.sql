INSERT INTO effects (event_id, repository, n, at) VALUES ($1, $2, $3, $4)
