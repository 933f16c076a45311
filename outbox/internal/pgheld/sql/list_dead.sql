-- Dead records. $2 is not used; $3 topic (LIKE), $4 key, $5 after, $6 whether to leave
-- payloads and headers out, $7 limit.
-- shows
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type,
       CASE WHEN $6::boolean THEN '' ELSE h.payload END, CASE WHEN NOT $6::boolean THEN h.headers END,
       0, '', false, h.errors::text, coalesce(h.reason, ''), h.died_at
FROM @{_dead} h
WHERE h.relay_group = $1 AND h.seq > $5 AND $2::text IS NULL
  AND ($3::text IS NULL OR h.topic LIKE $3) AND ($4::text IS NULL OR h.key = $4)
ORDER BY h.seq
LIMIT $7
