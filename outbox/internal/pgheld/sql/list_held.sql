-- Held records, each with its state. One that waits is listed as parked if a parked one of its
-- key comes before it, and else as retry. $2 that state, $3 topic (LIKE), $4 key, $5 after, $6
-- whether to leave payloads and headers out, $7 limit.
-- shows
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type,
       CASE WHEN $6::boolean THEN '' ELSE h.payload END, CASE WHEN NOT $6::boolean THEN h.headers END,
       h.attempts, coalesce(f.state, nullif(h.state, 'wait'), 'retry'), h.state = 'wait', h.errors::text, coalesce(h.reason, ''), h.held_at
FROM @{_held} h
LEFT JOIN LATERAL (
    SELECT p.state FROM @{_held} p
    WHERE h.state = 'wait' AND p.relay_group = $1 AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
      AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
      AND p.seq < h.seq AND p.state <> 'wait' AND p.state = 'parked'
    ORDER BY p.seq
    LIMIT 1) f ON true
WHERE h.relay_group = $1 AND h.seq > $5
  AND ($2::text IS NULL OR coalesce(f.state, nullif(h.state, 'wait'), 'retry') = $2)
  AND ($3::text IS NULL OR h.topic LIKE $3) AND ($4::text IS NULL OR h.key = $4)
ORDER BY h.seq
LIMIT $7
