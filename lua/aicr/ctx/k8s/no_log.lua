-- SPDX-License-Identifier: Apache-2.0
--- What a kubelet says, with the status 200, in the place of a log that it cannot read. Embedded code only.

local SAID <const> = {
  "^unable to retrieve container logs for %S+%s*$", "^failed to try resolving symlinks in path [^\n]*\n?$",
  "^failed to open log file [^\n]*\n?$",
}

--- Is a text that stands for a log what its node says of one that it cannot read?
-- @param text string the whole answer, or its only line
-- @return boolean
return function(text)
  for _, pattern in ipairs(SAID) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end
