-- SPDX-License-Identifier: Apache-2.0
--- The `expression` of an override row's `when`: what of CEL a question about a run needs (platform-runtimes.md 4.4).
--- Text, whole numbers, lists of them, comparisons, `in`, `!`, `&&`, `||`, `? :`, parentheses, and the methods
--- startsWith, endsWith, contains, size. All else of CEL is refused when it is read, and so is what is no question:
--- types are known beforehand, so that a question never fails when it is asked.
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

local BYTES_MAX <const>, DEPTH_MAX <const> = 4096, 50

--- What a question may name, with its type.
M.VARIABLES = {
  platform = "text", gpuArchitecture = "text", workloadKind = "text", topologyMode = "text", domainCount = "number",
}

local ESCAPES <const> = { n = "\n", t = "\t", r = "\r", ["\\"] = "\\", ["'"] = "'", ['"'] = '"' }
local SIGNS <const> = {
  "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ",", ".", "?", ":", "-",
}

-- What is wrong, for `compile` to give back.
local function wrong(p, fmt, ...)
  error({ expression = ("at character %d: %s"):format(p.at, fmt:format(...)) }, 0)
end

local function read_text(p, quote)
  local parts, at = {}, p.at + 1
  while true do
    local plain, stop = p.text:match("^([^\\'\"\n]*)(.?)", at)
    parts[#parts + 1], at = plain, at + #plain + 1
    if stop == quote then
      return table.concat(parts), at
    elseif stop == "\\" then
      local char = p.text:sub(at, at)
      if not ESCAPES[char] then
        wrong(p, "the text has an escape that is not known: %s", value.quoted("\\" .. char))
      end
      parts[#parts + 1], at = ESCAPES[char], at + 1
    elseif stop == "" or stop == "\n" then
      wrong(p, "the text does not end")
    else
      parts[#parts + 1] = stop
    end
  end
end

local function sign_at(text, at)
  for _, sign in ipairs(SIGNS) do
    if text:sub(at, at + #sign - 1) == sign then
      return sign
    end
  end
end

-- Reads the next word: p.kind is text, number, name, sign or end, p.word what it is.
local function advance(p)
  p.at = p.text:find("[^ \t\r\n]", p.next) or #p.text + 1
  local char = p.text:sub(p.at, p.at)
  if char == "" then
    p.kind, p.word = "end", "the end"
  elseif char == "'" or char == '"' then
    p.kind = "text"
    p.word, p.next = read_text(p, char)
  elseif char:match "%d" then
    local digits = p.text:match("^[%w_.]+", p.at)
    p.kind, p.word, p.next = "number", digits:match "^%d+$" and math.tointeger(tonumber(digits)), p.at + #digits
    if not p.word then
      wrong(p, "%s is no whole number that is read here", value.quoted(digits))
    end
  elseif char:match "[%a_]" then
    p.word = p.text:match("^[%w_]+", p.at)
    p.kind, p.next = "name", p.at + #p.word
  else
    p.kind, p.word = "sign", sign_at(p.text, p.at)
    if not p.word then
      wrong(p, "%s is not read here", value.quoted(char))
    end
    p.next = p.at + #p.word
  end
end

local function accept(p, sign)
  if p.kind == "sign" and p.word == sign then
    advance(p)
    return true
  end
  return false
end

local function expect(p, sign)
  if not accept(p, sign) then
    wrong(p, "expected %s, found %s", value.quoted(sign), p.kind == "end" and p.word or value.quoted(p.word))
  end
end

local function need(p, node, wanted, what)
  if node.type ~= wanted then
    wrong(p, "%s takes a %s, not a %s", what, wanted, node.type)
  end
  return node
end

local ternary

-- What a variable can be: a name that it never has would be a question that is never answered with yes.
local function check_known(p, a, b)
  if a.variable and b.literals and p.known[a.variable] then
    for _, literal in ipairs(b.literals) do
      local why = p.known[a.variable](literal)
      if why then
        wrong(p, "%s", why)
      end
    end
  end
end

local function list(p)
  local items, literals = {}, {}
  while not accept(p, "]") do
    if #items > 0 then
      expect(p, ",")
    end
    items[#items + 1] = ternary(p)
    literals[#literals + 1] = items[#items].literals and items[#items].literals[1]
    need(p, items[#items], items[1].type, "a list of " .. items[1].type .. "s")
  end
  local of = items[1] and items[1].type or "text"
  if of ~= "text" and of ~= "number" then
    wrong(p, "a list is of texts or of numbers")
  end
  return {
    type = "list of " .. of, literals = literals,
    get = function(run)
      local out = {}
      for i, item in ipairs(items) do
        out[i] = item.get(run)
      end
      return out
    end,
  }
end

local function primary(p)
  local kind, word = p.kind, p.word
  if accept(p, "(") then
    local inner = ternary(p)
    expect(p, ")")
    return inner
  elseif accept(p, "[") then
    return list(p)
  elseif kind == "text" or kind == "number" then
    advance(p)
    return { type = kind, literals = kind == "text" and { word } or nil, get = function() return word end }
  elseif kind == "name" and (word == "true" or word == "false") then
    advance(p)
    return { type = "question", get = function() return word == "true" end }
  elseif kind == "name" and M.VARIABLES[word] then
    advance(p)
    return { type = M.VARIABLES[word], variable = word, get = function(run) return run[word] end }
  elseif kind == "name" then
    wrong(p, "%s is not known here%s", value.quoted(word), value.suggestion(word, sorted_keys(M.VARIABLES)))
  end
  wrong(p, "expected a value, found %s", kind == "end" and word or value.quoted(word))
end

local METHODS <const> = {
  startsWith = function(text, part) return text:sub(1, #part) == part end,
  endsWith = function(text, part) return part == "" or text:sub(-#part) == part end,
  contains = function(text, part) return text:find(part, 1, true) ~= nil end,
}

local function method(p, node)
  local name = p.word
  advance(p)
  expect(p, "(")
  if name == "size" and node.type ~= "number" and node.type ~= "question" then
    expect(p, ")")
    return { type = "number", get = function(run) return #node.get(run) end }
  elseif not METHODS[name] then
    wrong(p, "the method %s is not read here; known: contains, endsWith, size, startsWith", value.quoted(name))
  end
  need(p, node, "text", name)
  local part = need(p, ternary(p), "text", name)
  expect(p, ")")
  return { type = "question", get = function(run) return METHODS[name](node.get(run), part.get(run)) end }
end

-- Keeps the stack small, whatever is nested in what.
local function deeper(p, read)
  p.depth = p.depth + 1
  if p.depth > DEPTH_MAX then
    wrong(p, "nested more than %d deep", DEPTH_MAX)
  end
  local node = read(p)
  p.depth = p.depth - 1
  return node
end

local function unary(p)
  if accept(p, "!") then
    local inner = need(p, deeper(p, unary), "question", "!")
    return { type = "question", get = function(run) return not inner.get(run) end }
  elseif accept(p, "-") then
    if p.kind ~= "number" then
      wrong(p, "expected a number behind the sign")
    end
    local n = -p.word
    advance(p)
    return { type = "number", get = function() return n end }
  end
  local node = primary(p)
  while accept(p, ".") do
    node = method(p, node)
  end
  return node
end

local COMPARE <const> = {
  ["=="] = function(a, b) return a == b end, ["!="] = function(a, b) return a ~= b end,
  ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, [">="] = function(a, b) return a >= b end,
}

local function is_among(item, all)
  for _, other in ipairs(all) do
    if other == item then
      return true
    end
  end
  return false
end

local function relation(p)
  local left = unary(p)
  if p.kind == "name" and p.word == "in" then
    advance(p)
    local right = need(p, unary(p), "list of " .. left.type, "in")
    check_known(p, left, right)
    return { type = "question", get = function(run) return is_among(left.get(run), right.get(run)) end }
  end
  local compare = p.kind == "sign" and COMPARE[p.word]
  if not compare then
    return left
  end
  local sign = p.word
  advance(p)
  local right = need(p, unary(p), left.type, sign)
  if left.type:sub(1, 4) == "list" or left.type == "question" and sign ~= "==" and sign ~= "!=" then
    wrong(p, "a %s is not compared with %s here", left.type, sign)
  end
  check_known(p, left, right)
  check_known(p, right, left)
  return { type = "question", get = function(run) return compare(left.get(run), right.get(run)) end }
end

local function both(p)
  local node = relation(p)
  while accept(p, "&&") do
    local left, right = need(p, node, "question", "&&"), need(p, relation(p), "question", "&&")
    node = { type = "question", get = function(run) return left.get(run) and right.get(run) end }
  end
  return node
end

local function either(p)
  local node = both(p)
  while accept(p, "||") do
    local left, right = need(p, node, "question", "||"), need(p, both(p), "question", "||")
    node = { type = "question", get = function(run) return left.get(run) or right.get(run) end }
  end
  return node
end

local function conditional(p)
  local node = either(p)
  if accept(p, "?") then
    local asked, yes = need(p, node, "question", "?"), ternary(p)
    expect(p, ":")
    local no = need(p, ternary(p), yes.type, "? :")
    node = { type = yes.type, get = function(run)
      if asked.get(run) then
        return yes.get(run)
      end
      return no.get(run)
    end }
  end
  return node
end

ternary = function(p) return deeper(p, conditional) end

--- Reads a question.
---@param text string
---@param known? table<string, fun(word: string): string|nil> by variable: why it never has that value
---@return (fun(run: table<string, string|integer>): boolean)|nil ask with a value for each of `VARIABLES`
---@return string|nil why it was not read
function M.compile(text, known)
  if #text > BYTES_MAX then
    return nil, ("longer than %d bytes"):format(BYTES_MAX)
  end
  local p = { text = text, next = 1, depth = 0, known = known or {} }
  local ok, made = pcall(function()
    advance(p)
    local node = ternary(p)
    if p.kind ~= "end" then
      wrong(p, "%s is too much", value.quoted(p.word))
    end
    return need(p, node, "question", "when")
  end)
  if ok then
    return made.get
  elseif type(made) == "table" and made.expression then
    return nil, made.expression
  end
  error(made, 0)
end

return M
