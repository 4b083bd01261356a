-- Acknowledges a message and puts it where it belongs, once: what is not pending any more is left alone, unless it was trimmed away.
-- KEYS: the stream it came from, the group's own, what comes back later, the dead letters, who holds which order key,
--       what was trimmed away while somebody works on it
-- ARGV: what ('ack', 'later', 'dead'), group, consumer, id, delete (0 or 1), the list of those that wait for its order key or '',
--       that key, delay in milliseconds, reason, whether it has just failed (0 or 1), its first id, failed, charged, seen, failed at,
--       error, field, value ..
local what, group, id, list, key = ARGV[1], ARGV[2], ARGV[4], ARGV[6], ARGV[7]
local pending = redis.call('XPENDING', KEYS[1], group, id, id, 1)[1]
local trimmed = not pending and KEYS[1] ~= KEYS[2] and redis.call('ZSCORE', KEYS[6], id)
-- What is done is done, also where another has it now. What has failed is the affair of who has it.
if not pending and not trimmed or what ~= 'ack' and pending and pending[2] ~= ARGV[3] then return 0 end
local own = ARGV[11]
-- What fails in the middle of a script stays half done: so what is put somewhere is put there first, and taken away afterwards.
if what ~= 'ack' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local failed_at = ARGV[10] == '1' and string.format('%.0f', now) or ARGV[15]
  local fields = { 'becalm-id', own, 'becalm-failed', ARGV[12], 'becalm-charged', ARGV[13], 'becalm-seen', ARGV[14],
    'becalm-failed-at', failed_at, 'becalm-error', ARGV[16] }
  if what == 'dead' then
    fields[#fields + 1] = 'becalm-reason'
    fields[#fields + 1] = ARGV[9]
  end
  for i = 17, #ARGV do fields[#fields + 1] = ARGV[i] end
  if what == 'later' then
    redis.call('ZADD', KEYS[3], string.format('%.0f', now + ARGV[8]), cmsgpack.pack(fields))
  else
    redis.call('XADD', KEYS[4], '*', unpack(fields))
  end
end
if what ~= 'later' and list ~= '' and redis.call('HGET', KEYS[5], key) == own then
  local held = redis.call('LINDEX', list, 0)
  if held then
    local fields = cmsgpack.unpack(held)
    redis.call('XADD', KEYS[2], '*', unpack(fields))
    redis.call('HSET', KEYS[5], key, fields[2])
    redis.call('LPOP', list)
  else
    redis.call('HDEL', KEYS[5], key)
  end
end
redis.call('XACK', KEYS[1], group, id)
if trimmed then redis.call('ZREM', KEYS[6], id) end
if ARGV[5] == '1' then redis.call('XDEL', KEYS[1], id) end
return 1
