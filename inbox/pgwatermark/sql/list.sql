-- shows
SELECT coalesce(s.topic, ''), w.source::text, w.part, w.next_off, s.retired_at IS NULL AND s.source IS NOT NULL
FROM @{_watermarks} w
LEFT JOIN @{_sources} s ON s.consumer = w.consumer AND s.source = w.source
WHERE w.consumer = $1::smallint
ORDER BY 1, s.since, w.source, w.part
