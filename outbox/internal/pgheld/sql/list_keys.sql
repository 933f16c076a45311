-- Keys whose first held record is parked, and parked records without a key. The held records of a
-- key are counted up to a hundred thousand. $2 topic (LIKE), $3 after, $4 limit.
-- shows
SELECT h.topic, coalesce(h.key, ''), h.seq, coalesce(h.id_text, h.id::text),
       CASE WHEN h.key IS NULL THEN 1 ELSE (
           SELECT count(*) FROM (
               SELECT FROM @{_held} p
               WHERE p.relay_group = $1 AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
                 AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
               LIMIT 100000) x) END,
       h.attempts, coalesce(h.reason, ''), coalesce(h.errors -> -1 ->> 'error', ''), coalesce(h.errors -> -1 ->> 'kind', ''), h.held_at
FROM @{_held} h
WHERE h.relay_group = $1 AND h.state <> 'wait' AND h.state = 'parked' AND h.seq > $3
  AND ($2::text IS NULL OR h.topic LIKE $2)
  AND NOT EXISTS (
      SELECT FROM @{_held} p
      WHERE p.relay_group = $1 AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
        AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
        AND p.seq < h.seq AND p.state <> 'wait')
ORDER BY h.seq
LIMIT $4
