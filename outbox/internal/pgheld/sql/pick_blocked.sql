-- The parked record of a key and what waits behind it, the last first: as long as the
-- parked one is there, nothing behind it is sent.
SELECT seq FROM @{_held}
WHERE relay_group = $1 AND left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3, 0) AND key = $3
  AND seq >= (SELECT seq FROM @{_held}
              WHERE relay_group = $1 AND left(topic, 255) = left($2, 255) AND topic = $2 AND hashtextextended(key, 0) = hashtextextended($3, 0) AND key = $3
                AND state <> 'wait' AND state = 'parked'
              ORDER BY seq LIMIT 1)
  AND @{primary}
ORDER BY seq DESC
LIMIT $4
