-- One exchange of a process with the bucket of its fleet: `Bucket` of becalm-fleet, step by step, in the same
-- order of operations, so that both come to the same number.
local bucket, known, silent = KEYS[1], KEYS[2], KEYS[3]
local instance, sequence = ARGV[1], tonumber(ARGV[2])
local earned, returned, held = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ask, ratio, least = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local floor, part, memory = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local span = tonumber(ARGV[12]) -- that earns the burst; 0 for the least one

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- Without a past it holds a tenth.
local level = redis.call('HMGET', bucket, 'tokens', 'at', 'earned', 'older', 'newer')
local tokens, at = least * 0.1, now
if level[1] and level[2] then
  tokens, at = tonumber(level[1]), tonumber(level[2])
end
-- A clock that was put back adds nothing.
now = math.max(now, at)
tokens = tokens + floor * ((now - at) / 1000000)

-- Whom it has not heard of for long, it forgets.
local before = '(' .. string.format('%.0f', now - memory)
local gone = redis.call('ZRANGEBYSCORE', silent, '-inf', before, 'LIMIT', 0, 1000)
if #gone > 0 then
  redis.call('ZREM', silent, unpack(gone))
  redis.call('HDEL', known, unpack(gone))
end

local last, granted
local words = redis.call('HGET', known, instance)
if words then
  last, granted = words:match('(%d+):(%d+)')
  last, granted = tonumber(last), tonumber(granted)
end
-- What the fleet has earned, and had at two looks: the rate is that since the older one.
local total = tonumber(level[3] or 0)
if not (last and sequence <= last) then
  total = total + earned
end
local burst = least
local function look(words)
  local then_at, then_earned = words:match('(%d+):(%d+)')
  return tonumber(then_at), tonumber(then_earned)
end
local function looked(time, count)
  return string.format('%.0f:%.0f', time, count)
end
local older = level[4] or looked(at, 0)
local newer = level[5] or older
if span > 0 then
  if now - look(newer) >= span then
    older, newer = newer, looked(now, total)
  end
  local then_at, then_earned = look(older)
  local spans = math.max(now - then_at, span) / span
  burst = math.max(least, ratio * (total - then_earned) / spans)
end
if last and sequence < last then
  granted = 0 -- overtaken
elseif not (last and sequence == last) then
  -- What it keeps is as if it came back and were granted anew, but for its one.
  local most = math.max(burst - math.max(held - 1, 0), 0)
  tokens = math.min(tokens + ratio * earned + returned, most)
  granted = math.floor(math.min(math.max(part * tokens, 1), math.max(tokens, 0)))
  granted = math.min(ask, granted)
  tokens = tokens - granted
  redis.call('HSET', known, instance, string.format('%.0f:%.0f', sequence, granted))
end
redis.call('HSET', bucket, 'tokens', string.format('%.17g', math.min(tokens, burst)),
  'at', string.format('%.0f', now), 'earned', string.format('%.0f', total),
  'older', older, 'newer', newer)
redis.call('ZADD', silent, string.format('%.0f', now), instance)

-- What nobody comes to is no loss: a bucket without a past holds a tenth.
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, string.format('%.0f', math.max(3600000, memory / 500)))
end
return {granted, redis.call('HLEN', known), now, math.floor(burst)}
