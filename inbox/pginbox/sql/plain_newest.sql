-- The highest id of version 7 in the plain table; it reads the whole table.
SELECT id FROM @{} WHERE get_byte(uuid_send(id), 6) >> 4 = 7 AND get_byte(uuid_send(id), 8) >> 6 = 2
  AND @{primary}
ORDER BY id DESC LIMIT 1
