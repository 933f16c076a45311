-- A chunk of the plain table, pages from $1 to before $2: ids that tell no time and
-- came before minute $3 (NULL: none), and if $4 is true those of version 7:
-- no claim looks for them here any more. By place rather than by an index, which
-- every claim would pay for.
DELETE FROM @{}
WHERE ctid >= $1::tid AND ctid < $2::tid
  AND CASE WHEN get_byte(uuid_send(id), 6) >> 4 = 7 AND get_byte(uuid_send(id), 8) >> 6 = 2
    THEN $4::boolean ELSE arrived < $3::integer END
