INSERT INTO tallies (acked) VALUES (?)
