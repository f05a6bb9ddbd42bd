-- SPDX-License-Identifier: Apache-2.0
--- aicr-run render. UPDATE_GOLDEN=1 writes the golden files anew.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local yaml = require "aicr.yaml"

local GOLDEN <const> = "spec/cli/golden/"

local function render(words, how)
  local args = { "render" }
  for word in words:gmatch "%S+" do
    args[#args + 1] = word
  end
  return binary.run(args, how)
end

local function compare(name, text)
  local path = GOLDEN .. name .. ".yaml"
  if os.getenv "UPDATE_GOLDEN" == "1" then
    files.write(path, text)
  end
  assert(files.exists(path), "no golden file " .. path)
  assert.equal(files.read(path), text)
end

describe("render", function()
  for name, words in pairs {
    render_aws_h100 = "--platform aws --arch h100 --nodes 2",
    render_gcp_gb200 = "--platform gcp --arch gb200 --nodes 2 -n bench",
    render_gcp_h100 = "--platform gcp --arch h100 --nodes 2",
  } do
    it("prints " .. words, function()
      local result = render(words)
      assert.equal(0, result.code, result.stderr)
      local warning = "aicr-run: warning: networks gpu-nic0 to gpu-nic7 and release v1.0.15 of the TCPXO plug-in were"
        .. " taken: what the nodes have is not known without a cluster\n"
      assert.equal(name == "render_gcp_h100" and warning or "", result.stderr)
      compare(name, result.stdout)
    end)
  end

  it("prints YAML that is the JSON's objects", function()
    for _, words in ipairs {
      "--platform aws --arch gb300 alltoall", "--platform nscale --arch b200 --nodes 18",
      "loopback --platform oci --arch h100",
      "loopback-nvswitch --platform togetherai --arch h200 --gpus 2 --nics 0",
      "--platform onprem --arch gb300 --nic-resource rdma/ib",
    } do
      local shown, data = render(words), render(words .. " -f json")
      assert.equal(0, shown.code, shown.stderr)
      local objects = yaml.decode_all(shown.stdout)
      assert.equal(json.encode(json.decode(data.stdout).objects), json.encode(objects))
      assert.is_true(#objects >= 2)
    end
  end)
  it("says in JSON what was taken, and which rows changed something", function()
    local got = json.decode(render("-f json --platform=azure --arch=h100 --nics=0 --gpus=4 all-gather").stdout)
    assert.same({ "all-gather", "azure", "h100", 2, 4, 0, false },
      { got.test, got.platform, got.arch, got.nodes, got.gpus, got.nics, got.mnnvl })
    assert.same({ { name = "azure-nics", changed = false } }, got.rows)
  end)
  it("says it in the head too", function()
    local text = render("--platform azure --arch h100 --nics 0").stdout
    assert.match("\n#   azure%-nics %(changed nothing%)\n", text)
    assert.match("\n# no row of recipes/overrides/workloadrun.yaml applies\n",
      render("--platform oci --arch h100").stdout)
    assert.match("\n# the nodes of a job share the label kubernetes.azure.com/ppg\n",
      render("--platform azure --arch gb200").stdout)
  end)
  it("runs a test of one node on one node", function()
    assert.match("^# loopback on aws h100: 1 node of 8 GPUs and 8 NICs, ",
      render("loopback --platform aws --arch h100 --nodes 4").stdout)
  end)
  it("warns of an architecture that is not known", function()
    local result = render "--platform aws --arch mi300x"
    assert.equal(0, result.code)
    assert.match('^aicr%-run: warning: the sizes of architecture "mi300x" are not known', result.stderr)
  end)
  it("takes one that is near to a known one where nothing of it is to be guessed", function()
    local result = render "--platform aws --arch v100 --gpus 8 --nics 0"
    assert.same({ 0, "" }, { result.code, result.stderr })
  end)
  it("warns where a NIC resource has to be said", function()
    assert.equal("aicr-run: warning: no NIC is asked for: which resource the nodes have is not known without a cluster;"
      .. " say it with --nic-resource\n", render("--platform onprem --arch gb300").stderr)
    assert.equal("", render("--platform onprem --arch gb300 --nic-resource rdma/ib").stderr)
    assert.equal("", render("--platform onprem --arch h100").stderr)
  end)
  it("reads its options from the environment", function()
    local result = render("--platform aws", { env = { AICR_RUN_ARCH = "h100", AICR_RUN_NODES = "3" } })
    assert.match("^# all%-reduce on aws h100: 3 nodes ", result.stdout)
  end)
  it("takes the data of --source", function()
    local folder = files.folder()
    -- The sanitizer's runtime is for the interpreter.
    assert(os.execute("env -u LD_PRELOAD cp -r lua checks recipes " .. folder))
    local path = folder .. "/recipes/overrides/workloadrun.yaml"
    files.write(path, (files.read(path):gsub("efa: 32", "efa: 31")))
    assert.match("vpc.amazonaws.com/efa: 31\n", render("--platform aws --arch h100 --source " .. folder).stdout)
    files.write(path, (files.read(path):gsub("name: aws%-h100%-efa\n", "name: aws-h100-efa\n  mpiarg: []\n")))
    local result = render("--platform aws --arch h100 --source " .. folder)
    files.remove(folder)
    assert.equal(2, result.code)
    assert.equal('aicr-run: recipes/overrides/workloadrun.yaml: row "aws-h100-efa": "mpiarg" is not known; did you mean'
      .. ' "mpiArgs"?\naicr-run: nothing was rendered\n', result.stderr)
  end)

  local NAMES <const> = "aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale"
  local rows = {
    { "", { "render needs --platform; expected one of: " .. NAMES,
      "render needs --arch, the architecture of the GPUs, such as h100" } },
    { "--platform aws --arch H100",
      { '--arch "H100" is not valid; expected lower-case letters and digits, such as h100' } },
    { "--platform aws --arch h100x --gpus 8", { 'the sizes of architecture "h100x" are not known; did you mean "h100"?'
      .. "\n  fix  correct --arch; if it is meant, say what its nodes have: --gpus N --nics N" } },
    { "--platform aws --arch h100 --nodes 0", { 'nodes "0" is not valid; expected a whole number from 1 to 100000' } },
    { "--platform aws --arch h100 --gpus 1000", { 'gpus "1000" is not valid; expected a whole number from 1 to 256' } },
    { "--platform aws --arch h100 allreduce", { 'there is no NCCL test "allreduce"; did you mean "all-reduce"?' } },
    { "--platform aws --arch h100 a b",
      { "render takes one test; expected one of: all-reduce, all-gather, alltoall, loopback, loopback-nvswitch" } },
    { "--platform aws --arch h100 -f junit",
      { "--format junit does not go with the command render; expected human (YAML) or json" } },
    { "--platform aws --arch h100 --strict", { "--strict does not go with the command render" } },
  }
  for _, row in ipairs(rows) do
    it("refuses " .. (row[1] == "" and "nothing" or row[1]), function()
      local result = render(row[1])
      assert.equal(2, result.code)
      assert.equal("", result.stdout)
      assert.equal("aicr-run: " .. table.concat(row[2], "\naicr-run: ") .. "\naicr-run: nothing was rendered\n",
        result.stderr)
    end)
  end
  it("keeps its options to itself", function()
    local result = binary.run { "--list", "--nodes=2", "checks/gke_tcpxo.lua" }
    assert.equal(2, result.code)
    assert.equal("aicr-run: --nodes goes with the command render only\naicr-run: no check was run\n", result.stderr)
  end)
end)
