-- $1, $2: where the last page ended; $3 topic, $4 key, $5 id, each NULL for any; $6 limit,
-- $7 the id's text.
-- shows
SELECT no, created_at, occurred_at, id, shard, id_text, topic, key, type, payload, headers, not_before
FROM @{_delayed}
WHERE (not_before, no) > ($1::timestamptz, $2::bigint)
  AND ($3::text IS NULL OR topic = $3) AND ($4::text IS NULL OR key = $4) AND ($5::uuid IS NULL OR id = $5 AND coalesce(id_text, id::text) = $7)
ORDER BY not_before, no
LIMIT $6
