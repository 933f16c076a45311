-- Parked records and those that wait behind a parked one of their key.
-- $2 topic (LIKE), $3 key, $4 after, $5 limit.
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type, h.payload, h.headers, h.attempts,
       h.state, h.errors::text, coalesce(h.reason, ''), h.held_at
FROM @{_held} h
WHERE h.relay_group = $1 AND h.seq > $4
  AND ($2::text IS NULL OR h.topic LIKE $2) AND ($3::text IS NULL OR h.key = $3)
  AND (h.state = 'parked' OR (h.state = 'wait' AND EXISTS (
       SELECT FROM @{_held} p
       WHERE p.relay_group = $1 AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
         AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
         AND p.seq < h.seq AND p.state <> 'wait' AND p.state = 'parked')))
ORDER BY h.seq
LIMIT $5
