-- LIMIT is the number of rows there are: then the statement ends without reading the row behind
-- them, which an open transaction may have locked. Below 1 is the row that names the life of
-- the log.
DELETE FROM @{} WHERE seq > 0 AND seq <= ? ORDER BY seq LIMIT ?
