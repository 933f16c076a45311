SELECT p.no, c.name, p.state, p.tries, p.attempts, p.errors, p.reason, p.first_at, p.last_at, p.parked_at,
  p.message_id, p.topic, p.msg_key, p.uuid, CASE WHEN ? THEN NULL ELSE p.payload END, LENGTH(p.payload), p.metadata, p.metadata_raw
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE {list} ORDER BY p.no LIMIT ?
