-- $1 consumer or NULL for all, $2 topic or NULL, $3 hash of the key or NULL, $4 key, $5 message id
-- or NULL, $6 state or NULL, $7 parked before or NULL, $8 after, $9 limit, $10 without payloads,
-- $11 fingerprint (admin.Fingerprint) or NULL.
-- shows
SELECT p.no, c.name, p.state, p.tries, p.attempts, p.errors::text, coalesce(p.reason, ''), p.first_at, p.last_at, p.parked_at,
       p.message_id, p.topic, p.key, p.uuid, CASE WHEN NOT $10::boolean THEN p.payload END, octet_length(p.payload),
       p.metadata::text, p.metadata_raw::text
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
WHERE ($1::smallint IS NULL OR p.consumer = $1::smallint) AND p.no > $8::bigint
  AND ($2::text IS NULL OR p.topic = $2::text)
  AND ($3::bigint IS NULL OR (p.key_hash = $3::bigint AND p.key = $4::bytea))
  AND ($5::bytea IS NULL OR p.message_id = $5::bytea)
  AND ($6::text IS NULL OR p.state = $6::text)
  AND ($11::text IS NULL OR left(regexp_replace(coalesce(p.reason, ''), '[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*', '#', 'g'), 200) = $11::text)
  AND ($7::timestamptz IS NULL OR p.parked_at < $7::timestamptz)
ORDER BY p.no LIMIT $9::int
