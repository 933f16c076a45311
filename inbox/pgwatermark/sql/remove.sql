DELETE FROM @{_watermarks} WHERE consumer = $1::smallint AND source = $2::uuid AND part = $3::integer
