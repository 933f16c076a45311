-- Reduces the entries of erase_audit_look.sql to who did what to which id.
UPDATE @{_audit} SET key = NULL, details = NULL, reason = 'erased'
WHERE action <> 'erase' AND (key = $1::text AND ($2::text IS NULL OR topic LIKE $2) OR id = ANY ($3::text[]))
  AND (key IS NOT NULL OR details IS NOT NULL OR reason IS DISTINCT FROM 'erased')
