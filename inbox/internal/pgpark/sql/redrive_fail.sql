-- $1 no, $2 tries, $3 parked again, $4 reason, $5 microseconds to wait, $6 error as
-- JSON, $7 how many errors are kept, $8 the attempt is taken back.
UPDATE @{_parked}
SET state = CASE WHEN $3::boolean THEN 'parked' ELSE 'redrive' END,
    reason = CASE WHEN $3::boolean THEN $4::text ELSE reason END,
    next_at = CASE WHEN $3::boolean THEN NULL ELSE clock_timestamp() + $5::bigint::float8 * interval '1 microsecond' END,
    tries = CASE WHEN $8::boolean THEN tries - 1 ELSE tries END,
    attempts = CASE WHEN $8::boolean THEN attempts - 1 ELSE attempts END,
    errors = CASE WHEN jsonb_array_length(errors) >= $7::int THEN errors - 0 ELSE errors END || $6::jsonb
WHERE no = $1::bigint AND tries = $2::int AND state = 'redrive'
