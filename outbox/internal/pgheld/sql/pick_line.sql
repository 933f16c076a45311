-- The parked record of a key and what waits behind it, or all of the key if none is parked; the
-- last first, so that no dropped record is sent out of order in the meantime.
SELECT seq FROM @{_held}
WHERE relay_group = $1 AND left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3, 0) AND key = $3
  AND seq >= (SELECT seq FROM @{_held}
              WHERE relay_group = $1 AND left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3, 0) AND key = $3
                AND state <> 'wait'
              ORDER BY state = 'parked' DESC, seq LIMIT 1)
  AND @{primary}
ORDER BY seq DESC
LIMIT $4
