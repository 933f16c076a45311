SELECT source::text, part, next_off FROM @{_watermarks} WHERE consumer = $1::smallint
  AND @{primary}
