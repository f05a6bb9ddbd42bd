-- SPDX-License-Identifier: Apache-2.0
std = "lua54"
cache = true
max_line_length = 120
ignore = { "212/self", "212/_.*" }
exclude_files = { "build", "spec/fixtures" }
files["spec"] = { std = "lua54+busted" }
files["lua/aicr/meta"] = { ignore = { "211", "212", "241" } }
-- Checks live in the sandbox: what it lacks is a lint error, not a surprise.
files["checks"] = {
  not_globals = { "io", "os", "debug", "load", "dofile", "loadfile", "print", "collectgarbage" },
}
