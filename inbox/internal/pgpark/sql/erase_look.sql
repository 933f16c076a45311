-- How many rows have more of the messages than their ids: notes, attempts, and the audit. $1 key, $2
-- topics (LIKE), $3 ids, $4 ids as they are stored.
SELECT (SELECT count(*) FROM @{_notes} WHERE consumer = ANY (ARRAY(SELECT id FROM @{_consumers})) AND id = ANY ($4::uuid[])),
  (SELECT count(*) FROM @{_attempts} WHERE consumer = ANY (ARRAY(SELECT id FROM @{_consumers})) AND id = ANY ($4::uuid[]) AND errors IS NOT NULL),
  (SELECT count(*) FROM @{_audit}
   WHERE action <> 'erase' AND (key = $1::bytea AND ($2::text IS NULL OR topic LIKE $2) OR message_id = ANY ($3::bytea[]))
     AND (key IS NOT NULL OR details IS NOT NULL OR reason <> 'erased'))
WHERE @{primary}
