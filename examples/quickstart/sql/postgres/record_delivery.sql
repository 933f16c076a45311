WITH r AS (
    INSERT INTO repositories AS r (name, version) VALUES ($2, 1)
    ON CONFLICT (name) DO UPDATE SET version = r.version + 1
    RETURNING version
)
INSERT INTO deliveries (id, repository, type, version) SELECT $1, $2, $3, version FROM r
