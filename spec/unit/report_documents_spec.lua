-- SPDX-License-Identifier: Apache-2.0
--- Objects as YAML.
require "aicr_native"
local documents = require "aicr.report.documents"
local json = require "aicr.json"
local yaml = require "aicr.yaml"

describe("documents.yaml", function()
  it("puts what tells an object first, lists below their key, texts of lines as lines", function()
    assert.equal([[
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  empty: {}
  list:
  - name: x
    value: "1"
  - []
  - - 1
    - null
  script: |
    set -e

      echo "hi"
  z: true
---
kind: B
]], documents.yaml { json.decode [==[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"z":true,
      "empty":{},"script":"set -e\n\n  echo \"hi\"\n","list":[{"value":"1","name":"x"},[],[1,null]]}}]==],
      { kind = "B" } })
  end)

  -- Texts that are something else, or nothing, without quotes.
  local texts = {
    "", " ", "a b", "a ", "true", "True", "no", "on", "y", "null", "~", "1", "1.5", "0x1f", "010", ".5", "1e3",
    "1:30", "2026-01-01", "2026-01-01T00:00:00Z", "-", "- a", "--- a", "---", "...", "?", "? a", ":", "a:",
    "a: b", "a:b", "#", "a #b", "a#b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "'", "''", '"', "\\",
    '{"a":1}', "[a", "a]", "{a}", "a,b", "<<", "=", "a\nb", "a\nb\n", "a\n", "\n", "\n\n", "\na\n", " a\nb\n",
    "a \nb\n", "a\n\nb\n", "a\n b\n", "a\n\n", "a\tb", "\tb\n", "é", "é\nb\n", "\u{2028}", "\u{2029}", "\u{85}",
    "\u{80}", "\u{feff}a", "\u{ffff}", "\u{1f600}", "a\r\nb\n", "\1", "\127", ("x"):rep(300), "-x", "/a/b",
    "a/b:c@sha256:00", "_a",
  }
  for _, text in ipairs(texts) do
    it(("keeps %q"):format(text), function()
      for _, schema in ipairs { "kubernetes", "recipe" } do
        local object = { ["k" .. text] = text, l = json.array { text, { m = text } } }
        assert.same(object, yaml.decode(documents.yaml { object }, { schema = schema }))
      end
    end)
  end
end)
