-- Says that a consumer still works on these, so that nobody claims them.
-- KEYS: the stream, the group's own; ARGV: group, consumer, stream (1 or 2), id, stream, id ..
for i = 3, #ARGV, 2 do
  local key, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1]
  local pending = redis.call('XPENDING', key, ARGV[1], id, id, 1)[1]
  if pending and pending[2] == ARGV[2] then
    redis.call('XCLAIM', key, ARGV[1], ARGV[2], 0, id, 'JUSTID')
  end
end
return 0
