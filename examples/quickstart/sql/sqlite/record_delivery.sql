INSERT INTO deliveries (id, repository, type, version) SELECT ?, name, ?, version FROM repositories WHERE name = ?
