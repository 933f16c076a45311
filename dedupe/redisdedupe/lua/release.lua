-- ARGV: token, ttl. Answers 1, or 0 where there was nothing of token's to release.
local value = redis.call('GET', KEYS[1])
if not value then
  return 0
end
if string.sub(value, 1, #ARGV[1] + 3) ~= 'P ' .. ARGV[1] .. ' ' then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2]) -- so that a full memory lets the next one pass
redis.call('SET', KEYS[1], 'F' .. string.sub(value, 2), 'PX', ARGV[2])
return 1
