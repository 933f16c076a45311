-- A claim that SET NX was refused. ARGV: token, lease, ttl, fingerprint.
-- Answers {status, attempt, takeover or milliseconds left, result}.
local value = redis.call('GET', KEYS[1])
local function take(attempt)
  redis.call('SET', KEYS[1], 'P ' .. ARGV[1] .. ' ' .. attempt .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4], 'PX', ARGV[3])
end
if not value then -- it has expired since
  take(1)
  return {1, 1, 0}
end
local state, token, attempt, lease, ttl, print, rest = string.match(value, '^([PFD]) (%S+) (%d+) (%d+) (%d+) ([%w_-]*)(.*)$')
if not state then
  return redis.error_reply('LEAT the key holds something else')
end
attempt, lease, ttl = tonumber(attempt), tonumber(lease), tonumber(ttl)
if print ~= '' and ARGV[4] ~= '' and print ~= ARGV[4] then
  return {4, attempt, 0}
end
if state == 'D' then
  return {3, attempt, 0, string.sub(rest, 2)}
end
if state == 'P' then
  local pttl = redis.call('PTTL', KEYS[1])
  if pttl < 0 or pttl > ttl then
    -- More than it was ever given: the clock has stepped back, or somebody has
    -- changed the expiry. Nobody knows what is left, so the lease begins again.
    redis.call('PEXPIRE', KEYS[1], ttl)
    pttl = ttl
  end
  local left = pttl - (ttl - lease)
  if left > 0 and token == ARGV[1] then
    return {1, attempt, 0}
  elseif left > 0 then
    return {2, attempt, left}
  end
end
take(attempt + 1)
return {1, attempt + 1, state == 'P' and 1 or 0}
