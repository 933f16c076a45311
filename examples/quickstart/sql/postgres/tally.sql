INSERT INTO tallies (acked) VALUES ($1)
