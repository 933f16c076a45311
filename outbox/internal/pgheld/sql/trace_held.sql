-- Held records with an id, of all groups. $1 the id, $2 its text.
-- shows
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type,
       h.payload, h.headers,
       h.attempts, coalesce(f.state, nullif(h.state, 'wait'), 'retry'), h.state = 'wait', h.errors::text, coalesce(h.reason, ''), h.held_at, h.relay_group
FROM @{_held} h
LEFT JOIN LATERAL (
    SELECT p.state FROM @{_held} p
    WHERE h.state = 'wait' AND p.relay_group = h.relay_group AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
      AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
      AND p.seq < h.seq AND p.state <> 'wait' AND p.state = 'parked'
    ORDER BY p.seq
    LIMIT 1) f ON true
WHERE h.id = $1::uuid AND coalesce(h.id_text, h.id::text) = $2
ORDER BY h.relay_group, h.seq
