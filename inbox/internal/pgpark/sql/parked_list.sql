-- $1 consumer, $2 topic or NULL, $3 hash of the key or NULL, $4 key, $5 message id or NULL, $6 state
-- or NULL, $7 parked before or NULL, $8 after, $9 limit.
SELECT no, state, tries, attempts, errors::text, coalesce(reason, ''), first_at, last_at, parked_at,
       message_id, topic, key, uuid, payload, metadata::text, metadata_raw::text
FROM @{_parked}
WHERE consumer = $1::smallint AND no > $8::bigint
  AND ($2::text IS NULL OR topic = $2::text)
  AND ($3::bigint IS NULL OR (key_hash = $3::bigint AND key = $4::bytea))
  AND ($5::bytea IS NULL OR message_id = $5::bytea)
  AND ($6::text IS NULL OR state = $6::text)
  AND ($7::timestamptz IS NULL OR parked_at < $7::timestamptz)
ORDER BY no LIMIT $9::int
