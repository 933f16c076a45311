-- Dead records with an id, of all groups. $1 the id, $2 its text.
-- shows
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type,
       h.payload, h.headers,
       0, '', false, h.errors::text, coalesce(h.reason, ''), h.died_at, h.relay_group
FROM @{_dead} h
WHERE h.id = $1::uuid AND coalesce(h.id_text, h.id::text) = $2
ORDER BY h.relay_group, h.seq
