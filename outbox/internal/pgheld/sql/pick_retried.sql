-- Records that are being tried again: as pick_parked.sql, or by an id ($4 as it is stored, $5 as
-- it is).
SELECT seq FROM @{_held}
WHERE relay_group = $1 AND state <> 'wait' AND state = 'retry'
  AND ($2::text IS NULL OR (left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3::text, 0) AND key = $3))
  AND ($5::text IS NULL OR id = $4::uuid AND coalesce(id_text, id::text) = $5)
  AND ($6::text IS NULL OR topic LIKE $6)
  AND ($7::text IS NULL OR errors -> -1 ->> 'kind' = $7)
  AND ($8::text IS NULL OR left(regexp_replace(coalesce(errors -> -1 ->> 'error', reason, ''), '[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*', '#', 'g'), 200) = $8)
  AND ($9::timestamptz IS NULL OR held_at < $9)
  AND @{primary}
ORDER BY seq
LIMIT $10
