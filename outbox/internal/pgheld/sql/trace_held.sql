-- Held records with an id, of all groups: of each the first hundred, and those with the numbers $3,
-- which are of messages that the trace has. $1 the id, $2 its text.
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
WHERE h.id = $1::uuid AND (h.relay_group, h.seq) IN (
    SELECT n.relay_group, n.seq
    FROM (SELECT a.relay_group, a.seq, row_number() OVER (PARTITION BY a.relay_group ORDER BY a.seq) AS place
          FROM @{_held} a
          WHERE a.id = $1::uuid AND coalesce(a.id_text, a.id::text) = $2) n
    WHERE n.place <= 100 OR n.seq = ANY ($3::bigint[]))
ORDER BY h.relay_group, h.seq
