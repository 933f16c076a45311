-- Once a consumer, under a lock: ON CONFLICT would use up a number each time.
INSERT INTO @{_consumers} (name) VALUES ($1::text) RETURNING id
