-- Dead records: by key ($2, $3), by id ($4, $5), or by a filter of topic (LIKE), kind
-- and fingerprint (admin.Fingerprint) of the last error, and time.
SELECT seq FROM @{_dead}
WHERE relay_group = $1
  AND ($2::text IS NULL OR (topic = $2 AND key = $3::text))
  AND ($4::uuid IS NULL OR (id = $4 AND coalesce(id_text, id::text) = $5::text))
  AND ($6::text IS NULL OR topic LIKE $6)
  AND ($7::text IS NULL OR errors -> -1 ->> 'kind' = $7)
  AND ($8::text IS NULL OR left(regexp_replace(coalesce(errors -> -1 ->> 'error', reason, ''), '[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*', '#', 'g'), 200) = $8)
  AND ($9::timestamptz IS NULL OR died_at < $9)
  AND @{primary}
ORDER BY seq
LIMIT $10
