-- Forgets a consumer that has nothing left.
-- KEYS: the stream, the group's own; ARGV: group, consumer
for _, key in ipairs(KEYS) do
  if #redis.call('XPENDING', key, ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', key, ARGV[1], ARGV[2])
  end
end
return 0
