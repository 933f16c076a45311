WITH c AS (
    INSERT INTO counters AS c (repository, events) VALUES ($2, 1)
    ON CONFLICT (repository) DO UPDATE SET events = c.events + 1
    RETURNING events
)
INSERT INTO effects (event_id, repository, n, at) SELECT $1, $2, events, $3 FROM c RETURNING n
