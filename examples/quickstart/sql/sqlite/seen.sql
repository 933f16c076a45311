INSERT OR IGNORE INTO seen (event_id) VALUES (?)
