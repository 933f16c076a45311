-- %s is one or more of (`offset` BETWEEN ? AND ?), joined by OR.
SELECT `offset`, uuid, payload, CAST(UNIX_TIMESTAMP(created_at) * 1000000 AS SIGNED)
FROM @{messages} WHERE (%s) @{unacked} ORDER BY `offset` LIMIT ?
