-- One statement: what it returns is of one moment. The highest number is looked up from
-- above, past the row that names the life.
SELECT (SELECT id FROM @{} WHERE seq = ?), instance, floor, place, @{database},
       (SELECT id FROM @{} WHERE seq = ?), EXISTS (SELECT 1 FROM @{} WHERE seq = ?),
       COALESCE((SELECT seq FROM @{} WHERE seq > 0 ORDER BY seq DESC LIMIT 1), 0)
FROM @{_meta} WHERE only_row = 1 AND @{same_server}
