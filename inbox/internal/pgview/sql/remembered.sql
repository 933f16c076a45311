-- The ids of a consumer, counted as far as that is cheap, and the newest of version 7: one
-- below $3, since ids of other versions may begin with any bytes. $1 consumer, $2 how far to
-- count, $3 id of a time that none of version 7 has reached.
-- shows
SELECT
  (SELECT count(*) FROM (SELECT FROM @{} WHERE consumer = $1::smallint LIMIT $2::int) i),
  (SELECT count(*) FROM (SELECT FROM @{_ranges} WHERE consumer = $1::smallint LIMIT $2::int) i),
  (SELECT id FROM (SELECT id FROM @{} WHERE consumer = $1::smallint AND id < $3::uuid ORDER BY id DESC LIMIT 1000) i
   WHERE get_byte(uuid_send(id), 6) >> 4 = 7 AND get_byte(uuid_send(id), 8) >> 6 = 2 ORDER BY id DESC LIMIT 1),
  (SELECT id FROM @{_ranges} WHERE consumer = $1::smallint AND id < $3::uuid ORDER BY id DESC LIMIT 1)
