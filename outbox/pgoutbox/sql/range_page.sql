-- A page of a range for the archive: $1 last, $2 limit, $3 the highest number.
SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type, o.payload, o.headers
FROM {range} o
WHERE o.seq > $1 AND o.seq <= $3
  AND @{primary}
ORDER BY o.seq
LIMIT $2
