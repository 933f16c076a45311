-- What the inbox has stored about a message, for each consumer. Parameters: id, three times, and those of the
-- conditions.
SELECT c.id, c.name, COALESCE(i.at, 0), n.id IS NOT NULL, n.fingerprint, n.reply,
  COALESCE(a.attempts, -1), COALESCE(a.first_at, 0), COALESCE(a.last_at, 0), a.errors
FROM @{_consumers} c
LEFT JOIN @{} i ON i.consumer = c.id AND i.id = ?
LEFT JOIN @{_notes} n ON n.consumer = c.id AND n.id = ?
LEFT JOIN @{_attempts} a ON a.consumer = c.id AND a.id = ?
WHERE {list} ORDER BY c.name LIMIT 9223372036854775807
