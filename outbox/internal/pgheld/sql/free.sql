-- Which of the keys $2, $3 no longer have held records.
SELECT DISTINCT k.topic, k.key
FROM unnest($2::text[], $3::text[]) AS k(topic, key)
WHERE k.key IS NOT NULL AND @{primary} AND NOT EXISTS (
    SELECT FROM @{_held} h
    WHERE h.relay_group = $1 AND left(h.topic, 255) = left(k.topic, 255) AND h.topic = k.topic
      AND hashtextextended(h.key, 0) = hashtextextended(k.key, 0) AND h.key = k.key)
