-- After a claim without a row, in a transaction of its own: its snapshot is
-- younger than whatever the claim ran into. One row in any case.
SELECT
  (SELECT next_off FROM @{_watermarks} WHERE consumer = $1::smallint AND source = $2::uuid AND part = $3::integer),
  (SELECT source::text FROM @{_sources} WHERE consumer = $1::smallint AND topic = $4::text AND retired_at IS NULL)
WHERE @{primary}
