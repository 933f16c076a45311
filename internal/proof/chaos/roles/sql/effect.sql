INSERT INTO effects (consumer, id, key, amount, to_key, child) VALUES ($1, $2, $3, $4, $5, $6)
