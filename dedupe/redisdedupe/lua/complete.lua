-- ARGV: token, ttl of a done record, result. Answers the completion.
local value = redis.call('GET', KEYS[1])
local token, ttl, answer, head = ARGV[1], ARGV[2], 1, nil
if not value then
  head, answer = 'D ' .. token .. ' 1 1 ' .. ttl .. ' ', 5
elseif string.sub(value, 1, #token + 3) == 'P ' .. token .. ' ' then
  head = 'D' .. string.sub(value, 2)
else
  local state, holder, rest = string.match(value, '^([PFD]) (%S+)( %d+ %d+ %d+ [%w_-]*)')
  if not state then
    return redis.error_reply('LEAT the key holds something else')
  elseif state == 'D' then
    return holder == token and 1 or 3
  elseif state == 'P' then
    return 2
  end
  head, answer = 'D ' .. token .. rest, 4
end
local set = redis.pcall('SET', KEYS[1], head .. '\n' .. ARGV[3], 'PX', ttl)
if set.err then
  -- Memory is full, and the effect is there. Redis refuses the first write of a
  -- script only, so as not to stop it halfway, and never a change of an expiry.
  -- Without its result the record needs no more than it had.
  redis.call('PEXPIRE', KEYS[1], ttl)
  redis.call('SET', KEYS[1], head .. '\n', 'PX', ttl)
end
return answer
