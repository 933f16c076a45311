-- ARGV: token, ttl of a done record, result. Answers the completion.
local value = redis.call('GET', KEYS[1])
local token, ttl, answer, head, vttl = ARGV[1], ARGV[2], 1, nil, nil
if not value then
  head, answer = 'D ' .. token .. ' 1 1 ' .. ttl .. ' ', 5
elseif string.sub(value, 1, #token + 3) == 'P ' .. token .. ' ' then
  head = 'D' .. string.sub(value, 2)
else
  local state, holder, attempt, lease, print
  state, holder, attempt, lease, vttl, print = string.match(value, '^(%a) (%S+) (%d+) (%d+) (%d+) ([%w_-]*)')
  if not state then
    return redis.error_reply('LEAT the key holds something else')
  end
  if state == 'D' or redis.call('PTTL', KEYS[1]) > tonumber(vttl) then
    return holder == token and 1 or 3
  elseif state ~= 'F' then
    return 2
  end
  head, answer = 'D ' .. token .. ' ' .. attempt .. ' ' .. lease .. ' ' .. vttl .. ' ' .. print, 4
end
local set = redis.pcall('SET', KEYS[1], head .. '\n' .. ARGV[3], 'PX', ttl)
if set.err then
  if not value then
    return redis.error_reply(set.err)
  end
  -- Memory is full: an expiry beyond the record's ttl says done as well.
  vttl = string.match(value, '^%a %S+ %d+ %d+ (%d+)')
  redis.call('PEXPIRE', KEYS[1], tonumber(vttl) + tonumber(ttl))
end
return answer
