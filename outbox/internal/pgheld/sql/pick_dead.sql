-- Dead records: by key ($2, $3), by id ($4, $5), or by a filter of topic (LIKE), kind
-- of the last error, and time.
SELECT seq FROM @{_dead}
WHERE relay_group = $1
  AND ($2::text IS NULL OR (topic = $2 AND key = $3::text))
  AND ($4::uuid IS NULL OR (id = $4 AND coalesce(id_text, id::text) = $5::text))
  AND ($6::text IS NULL OR topic LIKE $6)
  AND ($7::text IS NULL OR errors -> -1 ->> 'kind' = $7)
  AND ($8::timestamptz IS NULL OR died_at < $8)
ORDER BY seq
LIMIT $9
