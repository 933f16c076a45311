SELECT source::text, topic, replaces IS NOT NULL, retired_at IS NOT NULL FROM @{_sources} WHERE consumer = $1::smallint
  AND @{primary}
