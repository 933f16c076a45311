-- The held and dead records that are selected: by key $1, of topics $2 (LIKE), by ids $3, or by
-- header $4 and its value $5.
SELECT o.place, o.relay_group, o.id, o.topic
FROM (SELECT 'held' AS place, relay_group, seq, coalesce(id_text, id::text) AS id, topic, key, headers FROM @{_held}
      UNION ALL
      SELECT 'dead', relay_group, seq, coalesce(id_text, id::text), topic, key, headers FROM @{_dead}) o
WHERE (o.key = $1::text AND ($2::text IS NULL OR o.topic LIKE $2) OR o.id = ANY ($3::text[]) OR o.headers ->> $4::text = $5::text)
  AND @{primary}
ORDER BY o.relay_group, o.seq
