-- Leaves of the audit of these messages who did what to which id. $1 key, $2 topics (LIKE), $3 ids.
UPDATE @{_audit} SET key = NULL, details = NULL, reason = 'erased'
WHERE action <> 'erase' AND (key = $1::bytea AND ($2::text IS NULL OR topic LIKE $2) OR message_id = ANY ($3::bytea[]))
  AND (key IS NOT NULL OR details IS NOT NULL OR reason <> 'erased')
