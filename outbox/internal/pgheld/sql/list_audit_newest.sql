-- Entries of the audit, the newest first. $1 group, $2 action, $3 topic, $4 key, $5 NULL: any id, $6 since, $7 after,
-- $8 limit.
-- shows
SELECT no, at, action, actor, coalesce(reason, ''), coalesce(relay_group, ''), coalesce(seq, 0), coalesce(id, ''),
       coalesce(topic, ''), coalesce(key, ''), details::text
FROM @{_audit}
WHERE ($1::text IS NULL OR relay_group = $1) AND ($2::text IS NULL OR action = $2)
  AND ($3::text IS NULL OR topic = $3) AND ($4::text IS NULL OR key = $4) AND $5::text IS NULL
  AND ($6::timestamptz IS NULL OR at >= $6) AND no < $7
ORDER BY no DESC
LIMIT $8
