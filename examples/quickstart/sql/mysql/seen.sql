INSERT IGNORE INTO seen (event_id) VALUES (?)
