-- ARGV: token, ttl. Answers 1, or 0 where there was nothing of token's to release.
local value = redis.call('GET', KEYS[1])
if not value then
  return 0
end
local state, token, attempt, lease, ttl, rest = string.match(value, '^(%a) (%S+) (%d+) (%d+) (%d+)(.*)$')
if state ~= 'P' or token ~= ARGV[1] then
  return 0
end
if redis.call('PTTL', KEYS[1]) > tonumber(ttl) then
  return 0
end
local set = redis.pcall('SET', KEYS[1], 'F ' .. token .. ' ' .. attempt .. ' ' .. lease .. ' ' .. ttl .. rest, 'PX', ARGV[2])
if set.err then -- memory is full: end the lease
  redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ttl) - tonumber(lease), 1))
end
return 1
