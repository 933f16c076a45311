-- $2 topic (LIKE), $3 key, $4 after, $5 limit.
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type, h.payload, h.headers, 0,
       'dead', h.errors::text, coalesce(h.reason, ''), h.died_at
FROM @{_dead} h
WHERE h.relay_group = $1 AND h.seq > $4
  AND ($2::text IS NULL OR h.topic LIKE $2) AND ($3::text IS NULL OR h.key = $3)
ORDER BY h.seq
LIMIT $5
