WITH r AS (
    INSERT INTO repositories AS r (key, version) VALUES ($2, 1)
    ON CONFLICT (key) DO UPDATE SET version = r.version + 1
    RETURNING version
)
INSERT INTO deliveries (id, key, type, version) SELECT $1, $2, $3, version FROM r
