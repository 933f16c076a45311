-- Once a process: where ids came from, and if that is not the first parameter how many are
-- remembered, counted up to 10,000. Parameters: name, consumer, consumer. MariaDB lets no derived
-- table refer to what is around it.
SELECT c.ids, CASE WHEN c.ids <> ? THEN (SELECT COUNT(*) FROM (SELECT 1 FROM @{} i WHERE i.consumer = ? LIMIT 10000) r) ELSE 0 END
FROM @{_consumers} c WHERE c.id = ?
