-- The keys of the first $2 stored messages of consumer $1 that have one, and how many messages
-- were looked at.
SELECT topic, key, (sum(count(*)) OVER ())::int FROM (
  SELECT topic, key FROM @{_parked} WHERE consumer = $1::smallint AND key_hash IS NOT NULL AND @{primary} LIMIT $2::int) p
GROUP BY topic, key
