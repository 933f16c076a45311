-- The messages with an id, stored between $3 and $4 (NULL: until now), by way of the BRIN
-- index on created_at. $1 the id, $2 its text.
-- shows
SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type, o.payload, o.headers
FROM @{} o
WHERE o.id = $1::uuid AND coalesce(o.id_text, o.id::text) = $2
  AND o.created_at >= $3::timestamptz AND ($4::timestamptz IS NULL OR o.created_at < $4)
ORDER BY o.seq
LIMIT 100
