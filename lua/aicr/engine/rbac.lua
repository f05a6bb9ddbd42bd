-- SPDX-License-Identifier: Apache-2.0
--- The permissions that checks need, from the same lines as those that are enforced (design.md 6), and `aicr-run rbac`:
--- the least role that holds them.
local json = require "aicr.json"
local message = require "aicr.engine.message"
local ordered = require "aicr.report.ordered"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.report.text"

local M = {}

local object, array = ordered.object, ordered.array

local NO_VERDICT <const>, NOTHING <const> = 3, 4
local VERBS <const> = { "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection" }
local API <const> = "rbac.authorization.k8s.io/v1"
local NAME <const> = "aicr-run"

--- What the server is asked for where a check runs, with "in run" resolved.
--- @param host table the border
--- @param lines table the check's needs
--- @param namespace string the run's
--- @return table list of {verb, group, resource (with its subresource), namespace (nil: all), if_served} or of
--- {verb, path}
function M.rights(host, lines, namespace)
  local out = {}
  for i, need in ipairs(host.needs(lines)) do
    local resource = need.resource
    if need.subresource then
      resource = ("%s/%s"):format(resource, need.subresource)
    end
    out[i] = {
      verb = need.verb, path = need.path, group = need.group, resource = resource,
      namespace = need.scope == "run" and namespace or need.namespace, if_served = need.if_served or nil,
    }
  end
  return out
end

-- Resource in its group as needs and kubectl spell it: "jobs.batch", "pods/log".
local function spelled(right)
  local plural, sub = right.resource:match("^([^/]*)(.*)$")
  return plural .. (right.group ~= "" and "." .. right.group or "") .. sub
end

--- A right in words: "list networks.networking.gke.io", "create pods in aicr-validation".
function M.words(right)
  local what = right.path or spelled(right)
  return ("%s %s%s"):format(right.verb, what, right.namespace and " in " .. right.namespace or "")
end

-- The verbs of the set in their usual order.
local function in_order(verbs)
  local out = {}
  for _, verb in ipairs(VERBS) do
    out[#out + 1] = verbs[verb] and verb or nil
  end
  return out
end

--- What one line of needs comes to: "create, delete, get pods in aicr-validation".
function M.line(host, line, namespace)
  local where, verbs = {}, {}
  for _, right in ipairs(M.rights(host, { line }, namespace)) do
    local place = right.path or spelled(right) .. (right.namespace and " in " .. right.namespace or "")
    if not verbs[place] then
      verbs[place] = {}
      where[#where + 1] = place
    end
    verbs[place][right.verb] = true
  end
  for i, place in ipairs(where) do
    where[i] = ("%s %s"):format(table.concat(in_order(verbs[place]), ","), place)
  end
  return table.concat(where, "; ")
end

-- Scope "" is the whole cluster, any other one a namespace: scope → key → {group, resource | path, verbs}.
local function add(scopes, right)
  local scope, key = right.namespace or "", right.path or right.group .. " " .. right.resource
  scopes[scope] = scopes[scope] or {}
  local entry = scopes[scope][key] or { group = right.group, resource = right.resource, path = right.path, verbs = {} }
  scopes[scope][key] = entry
  entry.verbs[right.verb] = true
end

-- What holds everywhere need not be said again of a namespace.
local function drop_covered(scopes)
  local everywhere = scopes[""] or {}
  for _, scope in ipairs(sorted_keys(scopes)) do
    for key, entry in pairs(scope ~= "" and scopes[scope] or {}) do
      for verb in pairs(everywhere[key] and everywhere[key].verbs or {}) do
        entry.verbs[verb] = nil
      end
      if not next(entry.verbs) then
        scopes[scope][key] = nil
      end
    end
    if not next(scopes[scope]) then
      scopes[scope] = nil
    end
  end
end

-- Entries as rules; resources of one group with the same verbs are one rule.
local function rules_of(entries)
  local rules, by_verbs, paths = {}, {}, {}
  for _, key in ipairs(sorted_keys(entries)) do
    local entry = entries[key]
    local verbs = in_order(entry.verbs)
    if entry.path then
      paths[#paths + 1] = entry.path
    else
      local same = entry.group .. " " .. table.concat(verbs, ",")
      local rule = by_verbs[same]
      if not rule then
        rule = { group = entry.group, resources = {}, verbs = verbs }
        by_verbs[same] = rule
        rules[#rules + 1] = rule
      end
      rule.resources[#rule.resources + 1] = entry.resource
    end
  end
  if #paths > 0 then
    rules[#rules + 1] = { paths = paths, verbs = { "get" } }
  end
  return rules
end

-- The least roles that hold the rights of all: a list of
-- {namespace (nil: a cluster role), rules = {{group, resources, verbs} | {paths, verbs}}}
local function roles_of(rights)
  local scopes, roles = {}, {}
  for _, right in ipairs(rights) do
    add(scopes, right)
  end
  drop_covered(scopes)
  for i, scope in ipairs(sorted_keys(scopes)) do
    roles[i] = { namespace = scope ~= "" and scope or nil, rules = rules_of(scopes[scope]) }
  end
  return roles
end

--- Quotes a word for a shell where it has to be.
function M.shell(word)
  return word:find("^[%w_./:=@%%+,-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

--- The word of a command line that names a check.
--- @param item table the planned check
function M.operand(item)
  return M.shell(item.origin == "built-in" and item.meta and item.meta.name or item.path or item.name or "CHECK")
end

local function granting(what, namespace)
  return ("aicr-run rbac %s%s > role.yaml && kubectl --kubeconfig ADMIN_KUBECONFIG apply -f role.yaml  "
    .. "# then bind the role as role.yaml says"):format(namespace and "-n " .. M.shell(namespace) .. " " or "", what)
end

--- The commands that grant what a check needs: whom the cluster refused cannot grant it, an administrator's kubeconfig
--- is named.
--- @param item table the planned check
--- @param namespace string|nil the option of that name
function M.command(item, namespace)
  return granting(M.operand(item), namespace)
end

local function is_filtered(options)
  return options.phase ~= nil or options.tags ~= nil or #(options.skip or {}) > 0
end

--- The same for all that is selected, so that one role is bound and not one a check; nil where more than operands and
--- recipe select it.
--- @param job table operands, options
function M.command_of_all(job)
  local options = job.options
  if #job.operands == 0 or is_filtered(options) or options.platform then
    return nil
  end
  local words = options.recipe and { "--recipe", M.shell(options.recipe) } or {}
  for _, operand in ipairs(job.operands) do
    words[#words + 1] = M.shell(operand)
  end
  return granting(table.concat(words, " "), options.namespace)
end

-- A selection keeps its own role beside those of others: that of a suite has its name, else that of its checks, or of
-- their number and phases where these are too many. All checks that are built in have the plain name.
local function name_of(job)
  local own
  if #job.suites == 1 and #job.operands == 1 and not is_filtered(job.options) then
    own = job.suites[1].meta.suite
  elseif job.explicit or is_filtered(job.options) or job.options.recipe or job.options.platform then
    local names, phases = {}, {}
    for _, item in ipairs(job.wanted) do
      names[#names + 1] = item.name
      if phases[#phases] ~= item.phase then
        phases[#phases + 1] = item.phase
      end
    end
    own = table.concat(names, "-")
    own = #own <= 200 and own or ("%s-%d"):format(table.concat(phases, "-"), #names)
  end
  return type(own) == "string" and #own <= 200 and own:find("^[a-z0-9-]*[a-z0-9]$") and NAME .. "-" .. own or NAME
end

local function to_bind(name, role)
  if role.namespace then
    return ("kubectl -n %s create rolebinding %s --role=%s --user=NAME"):format(role.namespace, name, name)
  end
  return ("kubectl create clusterrolebinding %s --clusterrole=%s --user=NAME"):format(name, name)
end

-- The head of a report, and the detection of the platform, look at the nodes.
local function lists_nodes(roles)
  for _, rule in ipairs(roles[1] and not roles[1].namespace and roles[1].rules or {}) do
    if rule.group == "" and table.concat(rule.verbs, " "):find("list", 1, true) then
      for _, resource in ipairs(rule.resources) do
        if resource == "nodes" then
          return true
        end
      end
    end
  end
  return false
end

local function head(job, name, roles)
  local lines = { "# The least that these checks need:" }
  for _, item in ipairs(job.wanted) do
    lines[#lines + 1] = ("#   %s: %s"):format(item.name,
      text.printable(#item.needs > 0 and table.concat(item.needs, "; ") or "nothing"))
  end
  for _, item in ipairs(job.unknown) do
    lines[#lines + 1] = ("# NOT KNOWN is what %s needs: it is not built in"):format(item.name)
  end
  if #roles == 0 then
    lines[#lines + 1] = "# No role is needed."
    return lines
  end
  if not lists_nodes(roles) then
    lines[#lines + 1] = "# Who may not list nodes has to say what is detected from them: --platform NAME"
  end
  lines[#lines + 1] = "# Bind it to who runs them: --user=NAME, --group=NAME or --serviceaccount=NAMESPACE:NAME"
  for _, role in ipairs(roles) do
    lines[#lines + 1] = "#   " .. to_bind(name, role)
  end
  for _, role in ipairs(roles) do
    if role.namespace then
      lines[#lines + 1] = ("# The namespace %s has to be there before: kubectl create namespace %s"):format(
        role.namespace, role.namespace)
    end
  end
  return lines
end

local function flow(list)
  local quoted = {}
  for i, word in ipairs(list) do
    quoted[i] = json.encode(word)
  end
  return "[" .. table.concat(quoted, ", ") .. "]"
end

local function yaml(name, roles)
  local lines = {}
  for i, role in ipairs(roles) do
    lines[#lines + 1] = i > 1 and "---" or nil
    lines[#lines + 1] = "apiVersion: " .. API
    lines[#lines + 1] = "kind: " .. (role.namespace and "Role" or "ClusterRole")
    lines[#lines + 1] = "metadata:"
    lines[#lines + 1] = "  name: " .. json.encode(name)
    lines[#lines + 1] = role.namespace and "  namespace: " .. json.encode(role.namespace) or nil
    lines[#lines + 1] = "rules:"
    for _, rule in ipairs(role.rules) do
      if rule.paths then
        lines[#lines + 1] = "- nonResourceURLs: " .. flow(rule.paths)
      else
        lines[#lines + 1] = "- apiGroups: " .. flow { rule.group }
        lines[#lines + 1] = "  resources: " .. flow(rule.resources)
      end
      lines[#lines + 1] = "  verbs: " .. flow(rule.verbs)
    end
  end
  return lines
end

local function as_json(name, roles)
  local items = {}
  for i, role in ipairs(roles) do
    local rules = {}
    for k, rule in ipairs(role.rules) do
      rules[k] = rule.paths
        and object("nonResourceURLs", array(rule.paths), "verbs", array(rule.verbs))
        or object("apiGroups", array { rule.group }, "resources", array(rule.resources), "verbs", array(rule.verbs))
    end
    items[i] = object("apiVersion", API, "kind", role.namespace and "Role" or "ClusterRole",
      "metadata", object("name", name, "namespace", role.namespace), "rules", array(rules))
  end
  return ordered.encode(object("apiVersion", "v1", "kind", "List", "items", array(items)))
end

--- Sorts the plan into job.wanted (with their needs) and job.unknown, what nobody can tell the needs of. Checks that
--- are left out or are not for the platform need nothing.
function M.wanted(job)
  job.wanted, job.unknown = {}, {}
  for _, item in ipairs(job.plan) do
    if item.preset and item.preset.reason == "not-available" then
      job.unknown[#job.unknown + 1] = item
    elseif not item.preset then
      item.needs = item.meta.needs or {}
      job.wanted[#job.wanted + 1] = item
    end
  end
end

--- The rights of all wanted checks.
--- @param job table after M.wanted
function M.all(job, host)
  local rights = {}
  for _, item in ipairs(job.wanted) do
    local own = M.rights(host, item.needs, job.namespace)
    table.move(own, 1, #own, #rights + 1, rights)
  end
  return rights
end

--- Says on stderr which checks nobody can tell the needs of.
local function say_unknown(job, host)
  for _, item in ipairs(job.unknown) do
    host.write("stderr", message.format {
      what = "what this check needs is not known: " .. item.preset.message,
      fix = "leave it out: --skip " .. item.name .. "; or use a release that has it",
    })
  end
end

-- What is piped into kubectl is not read: the commands that bind the roles are told beside it.
local function say_bind(host, name, roles)
  for _, role in ipairs(roles) do
    if role.namespace then
      host.write("stderr", message.format("where the namespace is not there yet, first: kubectl create namespace "
        .. role.namespace))
    end
    host.write("stderr", message.format("then bind it to who runs the checks: " .. to_bind(name, role)))
  end
end

--- Prints the roles, as YAML or with --format json as JSON.
--- @param job table plan, operands, suites, namespace, reports.format
--- @param host table the border
--- @param terminal table stdout_tty
--- @return integer exit code
function M.print(job, host, terminal)
  M.wanted(job)
  local roles, name = roles_of(M.all(job, host)), name_of(job)
  local out
  if job.reports.format == "json" then
    out = as_json(name, roles)
  else
    local lines = head(job, name, roles)
    local body = yaml(name, roles)
    out = table.concat(table.move(body, 1, #body, #lines + 1, lines), "\n") .. "\n"
  end
  local code = message.print(host, out, #job.plan == 0 and NOTHING or nil)
  if code == NO_VERDICT then
    return code
  end
  if not terminal.stdout_tty then
    say_bind(host, name, roles)
  end
  say_unknown(job, host)
  return #job.plan > 0 and #job.unknown > 0 and NO_VERDICT or code
end

return M
