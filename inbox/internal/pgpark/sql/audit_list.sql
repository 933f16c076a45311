-- $1 consumer, $2 action or NULL, $3 message id or NULL, $4 since or NULL, $5 after, $6 limit.
SELECT no, at, action, actor, reason, parked_no, message_id, topic, key, details::text
FROM @{_audit}
WHERE consumer = $1::smallint AND no > $5::bigint AND ($2::text IS NULL OR action = $2::text)
  AND ($3::bytea IS NULL OR message_id = $3::bytea) AND ($4::timestamptz IS NULL OR at >= $4::timestamptz)
ORDER BY no LIMIT $6::int
