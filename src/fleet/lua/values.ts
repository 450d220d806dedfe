/** Lua: how values are written as text, and how texts are compared. */

export const VALUES: string = String.raw`
local call = redis.call
local quote = cjson.encode

-- All digits: cjson would write 14 of them, and a fence has 16.
local function num(value)
  return string.format('%.17g', value)
end
`;

/** For an engine. */
export const TEXTS: string = String.raw`
-- Sorts as text as the number sorts: what is due at one time is served by it.
local function pad(order)
  return string.format('%016.0f', order)
end

-- A table with a first element is a list, any other one is an object; { raw = text } stands for JSON that is ready.
local function json(value)
  local kind = type(value)
  if kind == 'string' then return quote(value) end
  if kind == 'number' then return num(value) end
  if kind == 'boolean' then return tostring(value) end
  if value.raw then return value.raw end
  local parts = {}
  if value[1] ~= nil then
    for i, inner in ipairs(value) do parts[i] = json(inner) end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  for name, inner in pairs(value) do
    parts[#parts + 1] = '"' .. name .. '":' .. json(inner)
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

-- A list may be empty, which a table does not show.
local function listOf(parts)
  return { raw = '[' .. table.concat(parts, ',') .. ']' }
end
`;
