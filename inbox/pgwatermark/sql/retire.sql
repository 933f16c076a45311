UPDATE @{_sources} SET retired_at = now() WHERE consumer = $1::smallint AND topic = $2::text AND retired_at IS NULL
