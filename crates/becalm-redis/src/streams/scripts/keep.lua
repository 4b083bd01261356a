-- Says that a consumer still works on these, so that nobody claims them.
-- KEYS: the stream, the group's own, what was trimmed away while somebody works on it
-- ARGV: group, consumer, stream (1 or 2), id, stream, id ..
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for i = 3, #ARGV, 2 do
  local key, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1]
  local pending = redis.call('XPENDING', key, ARGV[1], id, id, 1)[1]
  if pending and pending[2] == ARGV[2] then
    -- An entry that is not in the stream any more is not pending any more either, from here on.
    local kept = redis.call('XCLAIM', key, ARGV[1], ARGV[2], 0, id, 'JUSTID')
    if #kept == 0 and ARGV[i] == '1' then redis.call('ZADD', KEYS[3], now, id) end
  elseif not pending and ARGV[i] == '1' then
    -- A server without memory may refuse this one; the others are kept.
    redis.pcall('ZADD', KEYS[3], 'XX', now, id)
  end
end
return 0
