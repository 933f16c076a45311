INSERT INTO @{_watermarks} AS w (consumer, source, part, next_off)
VALUES ($1::smallint, $2::uuid, $3::integer, $4::bigint)
ON CONFLICT (consumer, source, part) DO UPDATE SET next_off = EXCLUDED.next_off
