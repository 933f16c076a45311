REPLACE INTO @{_notes} (consumer, id, fingerprint, reply) VALUES (?, ?, ?, ?)
