-- What Lua programs do with memory: strings built and taken apart, tables that grow, closures, coroutines,
-- objects with metatables, and a collector that walks all of it.
--
-- usage: lua5.4 program.lua [PERCENT]
local percent = tonumber(arg[1] or "100")

-- A generator of our own: math.random is seeded differently in each process.
local state = 5
local function below(bound)
  state = (state * 1103515245 + 12345) % 2147483648
  return (state // 65536) % bound
end

local sum = 0
local function note(value)
  sum = (sum * 31 + value) % 1000000007
end

local words = {}
for word in ("amber birch cedar delta ember fjord grove heron islet jetty knoll larch"):gmatch("%a+") do
  words[#words + 1] = word
end

local function strings(count)
  local lines = {}
  for line = 1, count do
    local parts = {}
    for part = 1, 6 + below(10) do parts[part] = words[1 + below(#words)] .. below(1000) end
    lines[line] = table.concat(parts, ",")
  end
  local seen = {}
  for _, line in ipairs(lines) do
    for field in line:gmatch("[^,]+") do
      local word, number = field:match("^(%a+)(%d+)$")
      seen[word] = (seen[word] or 0) + tonumber(number)
    end
    note(#line:gsub("%d+", function(digits) return "<" .. digits .. ">" end))
    note(#line:upper():reverse():rep(3, ";"))
  end
  for _, word in ipairs(words) do note(seen[word] or 0) end
end

local function build_text(count)  -- as beginners do: every step a longer string
  for _ = 1, count do
    local text = ""
    for step = 1, 250 do text = text .. string.format("%04x-%s ", step, words[1 + below(#words)]) end
    note(#text)
  end
end

local function tables(count)
  local records, by_name = {}, {}
  for number = 1, count do
    local record = {id = number, name = words[1 + below(#words)] .. below(count), values = {}}
    for k = 1, 1 + below(12) do record.values[k] = below(100) end
    records[number] = record
    by_name[record.name] = by_name[record.name] or {}
    table.insert(by_name[record.name], record)
  end
  table.sort(records, function(a, b) return a.name < b.name or (a.name == b.name and a.id < b.id) end)
  for place = 1, #records, 7 do
    local record = records[place]
    note(record.id + #by_name[record.name])
    by_name[record.name] = nil
    records[place] = {id = place, name = record.name, values = {table.unpack(record.values)}}
    by_name[record.name] = {records[place]}
  end
  for _, record in ipairs(records) do note(#record.values) end
end

local function closures(count)
  local pending = {}
  for number = 1, count do
    local kept, scale = {number}, below(9)
    pending[#pending + 1] = function(x) kept[#kept + 1] = x; return x * scale + #kept end
    if #pending > 500 then
      local total = 0
      for _, each in ipairs(pending) do total = total + each(number) end
      note(total)
      pending = {}
    end
  end
end

local function coroutines(count)
  local function walk(depth)
    if depth > 0 then
      walk(depth - 1)
      coroutine.yield(depth)
      walk(depth - 1)
    end
  end
  for _ = 1, count do
    local total = 0
    for depth in coroutine.wrap(function() walk(5) end) do total = total + depth end
    note(total)
  end
end

local Vector = {}
Vector.__index = Vector
Vector.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y + b.y}, Vector) end
Vector.__mul = function(a, k) return setmetatable({x = a.x * k, y = a.y * k}, Vector) end

local function objects(count)
  local path = {}
  local at = setmetatable({x = 0, y = 0}, Vector)
  for step = 1, count do
    at = at + setmetatable({x = below(7) - 3, y = below(7) - 3}, Vector) * (1 + step % 3)
    path[step % 5000 + 1] = at
  end
  for _, place in ipairs(path) do note((place.x + 3 * place.y) % 1000) end
end

strings(300 * percent)
build_text(4 * percent)
tables(600 * percent)
closures(2500 * percent)
coroutines(25 * percent)
objects(5000 * percent)
print("checksum", string.format("%016x", sum))
