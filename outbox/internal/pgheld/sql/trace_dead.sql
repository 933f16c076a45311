-- Dead records with an id, of all groups: of each the first hundred, and those with the numbers $3,
-- which are of messages that the trace has. $1 the id, $2 its text.
-- shows
SELECT h.seq, h.created_at, h.occurred_at, h.id, h.shard, h.id_text, h.topic, h.key, h.type,
       h.payload, h.headers,
       0, '', false, h.errors::text, coalesce(h.reason, ''), h.died_at, h.relay_group
FROM @{_dead} h
WHERE h.id = $1::uuid AND (h.relay_group, h.seq) IN (
    SELECT n.relay_group, n.seq
    FROM (SELECT a.relay_group, a.seq, row_number() OVER (PARTITION BY a.relay_group ORDER BY a.seq) AS place
          FROM @{_dead} a
          WHERE a.id = $1::uuid AND coalesce(a.id_text, a.id::text) = $2) n
    WHERE n.place <= 100 OR n.seq = ANY ($3::bigint[]))
ORDER BY h.relay_group, h.seq
