-- $1 consumer, $2 id, $3 error as JSON, $4 how many errors are kept.
UPDATE @{_attempts}
SET errors = CASE WHEN jsonb_array_length(coalesce(errors, '[]')) >= $4::int THEN errors - 0 ELSE coalesce(errors, '[]') END || $3::jsonb
WHERE consumer = $1::smallint AND id = $2::uuid
RETURNING attempts, first_at, last_at, errors::text
