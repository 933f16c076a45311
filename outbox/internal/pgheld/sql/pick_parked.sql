-- Parked records: of a key ($2, $3), or by a filter of topic (LIKE), kind and fingerprint
-- (admin.Fingerprint) of the last error, and time.
SELECT seq FROM @{_held}
WHERE relay_group = $1 AND state <> 'wait' AND state = 'parked'
  AND ($2::text IS NULL OR (left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3::text, 0) AND key = $3))
  AND ($4::text IS NULL OR topic LIKE $4)
  AND ($5::text IS NULL OR errors -> -1 ->> 'kind' = $5)
  AND ($6::text IS NULL OR left(regexp_replace(coalesce(errors -> -1 ->> 'error', reason, ''), '[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*', '#', 'g'), 200) = $6)
  AND ($7::timestamptz IS NULL OR held_at < $7)
  AND @{primary}
ORDER BY seq
LIMIT $8
