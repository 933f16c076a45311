-- A source that was current before may become so again, with what is remembered
-- of it.
INSERT INTO @{_sources} (consumer, source, topic, replaces)
VALUES ($1::smallint, $2::uuid, $3::text, $4::uuid)
ON CONFLICT (consumer, source) DO UPDATE SET retired_at = NULL
