-- Held records with an id.
SELECT h.seq, h.state, h.topic, coalesce(h.key, '')
FROM @{_held} h
WHERE h.relay_group = $1 AND h.id = $2::uuid AND coalesce(h.id_text, h.id::text) = $3
  AND @{primary}
ORDER BY h.seq
