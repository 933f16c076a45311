-- The keys of the first stored messages of a consumer that have one, each with how many messages
-- were looked at.
SELECT topic, msg_key, count(*) FROM (
  SELECT topic, msg_key FROM @{_parked} WHERE consumer = ? AND key_hash IS NOT NULL LIMIT ?) p
GROUP BY topic, msg_key
