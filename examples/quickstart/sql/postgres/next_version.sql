INSERT INTO repositories AS r (name, version) VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET version = r.version + 1
