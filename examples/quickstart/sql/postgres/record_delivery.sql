INSERT INTO deliveries (id, repository, type, version) SELECT $1, name, $2, version FROM repositories WHERE name = $3
