INSERT INTO @{_watermarks} (consumer, source, part, next_off)
VALUES ($1::smallint, $2::uuid, $3::integer, $4::bigint) ON CONFLICT DO NOTHING
