-- Held records with an id, and whether a parked one of their key stands before them.
SELECT h.seq, h.state, h.topic, coalesce(h.key, ''),
       h.state = 'wait' AND EXISTS (
           SELECT FROM @{_held} p
           WHERE p.relay_group = $1 AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
             AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
             AND p.seq < h.seq AND p.state <> 'wait' AND p.state = 'parked')
FROM @{_held} h
WHERE h.relay_group = $1 AND h.id = $2::uuid AND coalesce(h.id_text, h.id::text) = $3
  AND @{primary}
ORDER BY h.seq
