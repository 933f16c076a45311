-- How many entries have more than who did what to which id, of the messages with key $1, of
-- topics $2 (LIKE), or of ids $3.
SELECT count(*) FROM @{_audit}
WHERE action <> 'erase' AND (key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR id = ANY ($3::text[]))
  AND (key IS NOT NULL OR details IS NOT NULL OR reason IS DISTINCT FROM 'erased') AND @{primary}
