-- As audit_list.sql, with the newest first; $5 is 0 for the start.
-- shows
SELECT a.no, a.at, coalesce(c.name, ''), a.action, a.actor, a.reason, a.parked_no, a.message_id, a.topic, a.key, a.details::text
FROM @{_audit} a LEFT JOIN @{_consumers} c ON c.id = a.consumer
WHERE ($1::smallint IS NULL OR a.consumer = $1::smallint) AND ($5::bigint = 0 OR a.no < $5::bigint)
  AND ($2::text IS NULL OR a.action = $2::text)
  AND ($3::bytea IS NULL OR a.message_id = $3::bytea) AND ($4::timestamptz IS NULL OR a.at >= $4::timestamptz)
ORDER BY a.no DESC LIMIT $6::int
