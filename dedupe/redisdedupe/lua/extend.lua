-- ARGV: token, lease. Answers 1, or 0 where token does not hold the record.
local value = redis.call('GET', KEYS[1])
if not value then
  return 0
end
local state, token, attempt, lease, ttl, rest = string.match(value, '^(%a) (%S+) (%d+) (%d+) (%d+)(.*)$')
if state ~= 'P' or token ~= ARGV[1] then
  return 0
end
lease, ttl = tonumber(lease), tonumber(ttl)
local wanted = tonumber(ARGV[2])
if wanted <= lease then
  redis.call('PEXPIRE', KEYS[1], ttl - lease + wanted)
else
  -- No expiry beyond ttl: that would read as a clock that has stepped. The first
  -- write is one that a full memory allows; the second then is, too.
  ttl = ttl - lease + wanted
  redis.call('PEXPIRE', KEYS[1], ttl)
  redis.call('SET', KEYS[1], 'P ' .. token .. ' ' .. attempt .. ' ' .. wanted .. ' ' .. ttl .. rest, 'PX', ttl)
end
return 1
