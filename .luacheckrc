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
  return names
end

std = "lua51"
read_globals = { "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit" }
globals = names_of_parts()
max_line_length = 130

-- What one part declares, others use: 211, 221, 231, 241, 311 and 331 are about unused names and values.
files[scripts .. "parts"] = { ignore = { "211", "221", "231", "241", "311", "331" } }
