-- Moves what is due back, claims what nobody works on, and takes what is next.
-- KEYS: the stream, its own of what comes back, what comes back later, who holds which order key,
--       what was trimmed away while somebody works on it
-- ARGV: group, consumer, how many, which stream first (1 or 2), the field of the order key or '', idle milliseconds of a claim or 0,
--       the prefix of the lists of held messages, delete (0 or 1)
-- What fails in the middle of a script stays half done: so what is put somewhere is put there first, and taken away afterwards.
local group, me, count, field, parked = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5], ARGV[7]
local idle, later, holds = tonumber(ARGV[6]), KEYS[3], KEYS[4]
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local taken = {}

local function value(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then return fields[i + 1] end
  end
end

-- An entry is this consumer's; with an order key it is taken only if none before it with that key is left.
local function hand(source, entry)
  local id, fields = entry[1], entry[2]
  local key = field ~= '' and value(fields, field)
  if key then
    local own = source == 2 and value(fields, 'becalm-id') or id
    local holder = redis.call('HGET', holds, key)
    if holder and holder ~= own then
      local held = { 'becalm-id', own, 'becalm-failed', '0', 'becalm-charged', '0', 'becalm-seen', now,
        'becalm-failed-at', '', 'becalm-error', '' }
      for i = 1, #fields do held[#held + 1] = fields[i] end
      redis.call('RPUSH', parked .. key, cmsgpack.pack(held))
      redis.call('XACK', KEYS[source], group, id)
      if ARGV[8] == '1' then redis.call('XDEL', KEYS[source], id) end
      return
    end
    redis.call('HSET', holds, key, own)
  end
  taken[#taken + 1] = { source, id, fields }
end

-- A holder that somebody has trimmed away holds nobody back.
local function forget(id)
  local all = redis.call('HGETALL', holds)
  for i = 1, #all, 2 do
    if all[i + 1] == id then
      local held = redis.call('LINDEX', parked .. all[i], 0)
      if held then
        local fields = cmsgpack.unpack(held)
        redis.call('XADD', KEYS[2], '*', unpack(fields))
        redis.call('HSET', holds, all[i], fields[2])
        redis.call('LPOP', parked .. all[i])
      else
        redis.call('HDEL', holds, all[i])
      end
    end
  end
end

-- Comes back with whether there was memory for it.
local function back()
  for _, packed in ipairs(redis.call('ZRANGEBYSCORE', later, '-inf', now, 'LIMIT', 0, count)) do
    local added = redis.pcall('XADD', KEYS[2], '*', unpack(cmsgpack.unpack(packed)))
    local refused = type(added) == 'table' and added.err
    if refused and string.find(refused, 'OOM', 1, true) then return false end
    if refused then error(added) end
    redis.call('ZREM', later, packed)
  end
  return true
end
local is_full = not back()

if idle > 0 then
  for source = 1, 2 do
    local cursor, rounds = '0-0', 0
    repeat
      local left = count - #taken
      if left <= 0 then break end
      local claimed = redis.call('XAUTOCLAIM', KEYS[source], group, me, idle, cursor, 'COUNT', left)
      for _, entry in ipairs(claimed[2]) do hand(source, entry) end
      -- Its consumer may be alive, and handle it: it has as long to say so once more.
      if source == 1 then
        for _, id in ipairs(claimed[3] or {}) do redis.call('ZADD', KEYS[5], 'NX', now, id) end
      end
      cursor, rounds = claimed[1], rounds + 1
    until cursor == '0-0' or rounds == 100
  end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now - idle)) do
    if field ~= '' then forget(id) end
    redis.call('ZREM', KEYS[5], id)
  end
end

local first = tonumber(ARGV[4])
for _, source in ipairs({ first, 3 - first }) do
  local rounds = 0
  while #taken < count and rounds < 20 do
    local read = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', count - #taken, 'STREAMS', KEYS[source], '>')
    if not read then break end
    for _, entry in ipairs(read[1][2]) do hand(source, entry) end
    rounds = rounds + 1
  end
end

-- Redis at its limit refuses the first write of a script, and none behind another: what is moved takes the room of what it was.
if is_full then back() end

local next = redis.call('ZRANGE', later, 0, 0, 'WITHSCORES')[2]
local last = { '', '' }
if #taken == 0 then
  for source = 1, 2 do
    for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[source])) do
      if value(info, 'name') == group then last[source] = value(info, 'last-delivered-id') end
    end
  end
end
return { now, next and math.max(0, next - now) or -1, last[1], last[2], taken }
