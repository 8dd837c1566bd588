-- A script is sent with the parts it uses before it (see scripts/parts), so a name that any
-- part declares at its top level counts as known. What no part and no Redis knows is an error.
local scripts = "core/src/engine/redis/scripts/"

local function names_of_parts()
  local names = {}
  local listing = io.popen("cat " .. scripts .. "parts/*.lua 2>/dev/null")
  for line in listing:lines() do
    local list = line:match("^local function ([%w_]+)") or line:match("^local ([%w_, ]+)")
    for name in (list or ""):gmatch("[%w_]+") do names[#names + 1] = name end
  end
  listing:close()
  -- Functions that are made of parts: `{ "name(arguments)" begins }`.
  local source = io.open("core/src/engine/redis/scripts.rs")
  for name, list in source:read("*a"):gmatch('{ "([%w_]+)%(([%w_, ]*)%)" begins }') do
    names[#names + 1] = name
    for argument in list:gmatch("[%w_]+") do names[#names + 1] = argument end
  end
  source:close()
  return names
end

-- The names of the keys that stand in front of each script.
local function add_keys(names)
  names[#names + 1] = "READY"
  local source = io.open("core/src/engine/redis/key_names.rs")
  local text = source:read("*a")
  source:close()
  local of_queues = text:match("const NAMES.-= (%b[]);")
  local of_workers = text:match("const WORKER_NAMES.-= (%b[]);")
  for name in (of_queues:gsub(', "%w+"%)', "") .. of_workers):gmatch('"([%w_]+)"') do names[#names + 1] = name:upper() end
  return names
end

std = "lua51"
read_globals = { "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" }
globals = add_keys(names_of_parts())
max_line_length = 130

-- What one part declares, others use: 211, 221, 231, 241, 311 and 331 are about unused names and values.
files[scripts .. "parts"] = { ignore = { "211", "221", "231", "241", "311", "331" } }
