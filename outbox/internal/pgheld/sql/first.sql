-- The first held record of a key.
SELECT seq, coalesce(id_text, id::text) FROM @{_held}
WHERE relay_group = $1 AND left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3, 0) AND key = $3
  AND @{primary}
ORDER BY seq
LIMIT 1
