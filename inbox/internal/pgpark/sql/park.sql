-- $1 consumer, $2 behind another one, $3 attempts, $4 errors, $5 reason, $6 first
-- and $7 last attempt or NULL, $8 message id, $9 topic, $10 hash of the key, $11
-- key, $12 uuid, $13 payload, $14 metadata, $15 metadata that is not text, $16
-- consumer's name, $17 id of the attempts.
-- See design 13.3.
WITH p AS (
  INSERT INTO @{_parked} (consumer, state, attempts, errors, reason, first_at, last_at, message_id, topic, key_hash, key,
                          uuid, payload, metadata, metadata_raw)
  VALUES ($1::smallint, CASE WHEN $2::boolean THEN 'wait' ELSE 'parked' END, $3::int, $4::jsonb, $5::text,
          coalesce($6::timestamptz, clock_timestamp()), coalesce($7::timestamptz, clock_timestamp()),
          $8::bytea, $9::text, $10::bigint, $11::bytea, $12::bytea, $13::bytea, $14::jsonb, $15::jsonb)
  RETURNING no),
a AS (DELETE FROM @{_attempts} WHERE consumer = $1::smallint AND id = $17::uuid)
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, message_id, topic, key)
SELECT 'park', $16::text, $5::text, $1::smallint, p.no, $8::bytea, $9::text, $11::bytea FROM p WHERE $5::text <> ''
