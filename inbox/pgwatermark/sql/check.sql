-- What look.sql asks, by the consumer's name: a failover may have lost its number, or have
-- given it to another consumer. One row in any case.
WITH c AS (SELECT id FROM @{_consumers} WHERE name = $1::text)
SELECT
  (SELECT next_off FROM @{_watermarks}, c WHERE consumer = c.id AND source = $2::uuid AND part = $3::integer),
  (SELECT source::text FROM @{_sources}, c WHERE consumer = c.id AND topic = $4::text AND retired_at IS NULL)
WHERE @{primary}
