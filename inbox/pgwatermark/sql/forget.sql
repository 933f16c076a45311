-- Deletes a source together with its last watermark.
DELETE FROM @{_sources} s WHERE s.consumer = $1::smallint AND s.source = $2::uuid
  AND NOT EXISTS (SELECT FROM @{_watermarks} w WHERE w.consumer = s.consumer AND w.source = s.source)
