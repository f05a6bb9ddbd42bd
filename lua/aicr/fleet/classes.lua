-- SPDX-License-Identifier: Apache-2.0
--- Which DRA driver the devices of a class are of.
local errors = require "aicr.native.error"
local shape = require "aicr.fleet.shape"
local text = require "aicr.native.text"

local M = {}

local function driver_in(class)
  for _, selector in ipairs(class.spec and class.spec.selectors or {}) do
    local expression = selector.cel and selector.cel.expression or ""
    local driver = expression:match "device%.driver%s*==%s*[\"']([%w.-]+)[\"']"
    if driver then
      return driver
    end
  end
end

--- The driver that the class's own expressions compare device.driver with, nil where they name none.
---@param class table the DeviceClass
---@return string|nil
function M.selected(class)
  return shape.read("deviceclass", class, driver_in)
end

local function given(ctx, name)
  for _, word in ipairs(ctx.params.driver) do
    local class, driver = word:match "^([^=]+)=(.+)$"
    if class == name then
      return driver
    elseif not class then
      errors.raise {
        code = "INVALID_REQUEST", reason = "driver",
        message = ('parameter driver: expected CLASS=DRIVER, found "%s"'):format(text.printable(word)),
      }
    end
  end
end

--- The driver of a device class: the parameter `driver` says it, else recipes/platforms/fabric.yaml, else the class.
--- Raises INVALID_REQUEST/`driver-unknown`, no verdict, where none does: devices of nodes could not be counted.
---@param ctx aicr.ctx
---@param class table the DeviceClass
---@param wanted {name: string, driver: string?}
---@return string
function M.driver(ctx, class, wanted)
  local driver = given(ctx, wanted.name) or wanted.driver or M.selected(class)
  if not driver then
    errors.raise {
      code = "INVALID_REQUEST", reason = "driver-unknown",
      message = ("device class %s compares device.driver with nothing that can be read: say whose devices they are"
        .. " with --set driver=%s=DRIVER"):format(wanted.name, wanted.name),
    }
  end
  return driver
end

return M
