SELECT `offset`, uuid, payload, CAST(UNIX_TIMESTAMP(created_at) * 1000000 AS SIGNED)
FROM @{messages} WHERE `offset` > ? @{unacked} ORDER BY `offset` LIMIT ?
