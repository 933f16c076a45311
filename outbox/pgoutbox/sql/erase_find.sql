-- The messages that are selected, by key $1, of topics $2 (LIKE), by ids $3, or by header $4 and its
-- value $5, from number $6 to $7, both included.
SELECT seq, coalesce(id_text, id::text), topic FROM @{}
WHERE seq >= $6::bigint AND seq <= $7::bigint
  AND (key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR coalesce(id_text, id::text) = ANY ($3::text[]) OR headers ->> $4::text = $5::text)
  AND @{primary}
ORDER BY seq
