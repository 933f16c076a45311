-- For accounts that are made on their way.
INSERT INTO accounts (name, balance, opening) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING
