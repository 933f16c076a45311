-- What is parked of the messages that are selected: by key $1, of topics $2 (LIKE), by ids $3, or by
-- metadata of the name $4 and the value $5. The last come first, since deleting a message makes the one
-- behind it due.
SELECT p.no, c.id, c.name, coalesce(p.message_id, ''::bytea), p.topic, coalesce(p.key, ''::bytea)
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE (p.key = $1::bytea AND ($2::text IS NULL OR p.topic LIKE $2) OR p.message_id = ANY ($3::bytea[]) OR p.metadata ->> $4::text = $5::text)
  AND @{primary}
ORDER BY p.no DESC
