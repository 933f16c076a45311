-- ARGV: token, ttl of a done record, result. Answers the completion.
local value = redis.call('GET', KEYS[1])
local ttl, answer, head = ARGV[2], 1, nil
local vttl = 0
if not value then
  head, answer = 'D ' .. ARGV[1] .. ' 1 1 ' .. ttl .. ' ', 5
else
  local state, token, attempt, lease, print
  state, token, attempt, lease, vttl, print = string.match(value, '^(%a) (%S+) (%d+) (%d+) (%d+) ([%w_-]*)')
  if not state then
    return redis.error_reply('LEAT the key holds something else')
  end
  local done = state == 'D' or redis.call('PTTL', KEYS[1]) > tonumber(vttl)
  if done then
    return token == ARGV[1] and 1 or 3
  elseif state == 'F' then
    answer = 4
  elseif token ~= ARGV[1] then
    return 2
  end
  head = 'D ' .. ARGV[1] .. ' ' .. attempt .. ' ' .. lease .. ' ' .. vttl .. ' ' .. print
end
local set = redis.pcall('SET', KEYS[1], head .. '\n' .. ARGV[3], 'PX', ttl)
if set.err then
  if not value then
    return redis.error_reply(set.err)
  end
  redis.call('PEXPIRE', KEYS[1], tonumber(vttl) + tonumber(ttl))
end
return answer
