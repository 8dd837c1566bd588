-- The commands of a worker: for each its number, the server time at which it expires, the length of its text, and the
-- text, which only clients read. Those that have expired are left out. Remains that cannot be read end the list.
local HEAD = '>I7I7I4'
local HEAD_LENGTH = 18

local function unpack_commands(packed)
  local commands, at = {}, 1
  while packed and #packed >= at + HEAD_LENGTH - 1 do
    local number, expires, length = struct.unpack(HEAD, packed, at)
    at = at + HEAD_LENGTH
    if expires > now then
      commands[#commands + 1] = { number = number, expires = expires, text = string.sub(packed, at, at + length - 1) }
    end
    at = at + length
  end
  return commands
end

local function pack_commands(commands)
  local packed = {}
  for i, command in ipairs(commands) do
    packed[i] = struct.pack(HEAD, command.number, command.expires, #command.text) .. command.text
  end
  return table.concat(packed)
end
