-- SPDX-License-Identifier: Apache-2.0
--- aicr-run render. UPDATE_GOLDEN=1 writes the golden files anew.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local fleet = require "spec.support.fleet"
local golden = require "spec.support.golden"
local json = require "aicr.json"
local recording = require "spec.support.recording"
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
  golden(GOLDEN .. name .. ".yaml", text)
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

  describe("with rows of one's own", function()
    local folder
    before_each(function()
      folder = files.folder()
      assert(os.execute("mkdir " .. folder .. "/_lib"))
    end)
    after_each(function() files.remove(folder) end)

    local function own(text, words)
      files.write(folder .. "/site.yaml", text)
      return render((words or "--platform aws --arch h100") .. " --overrides " .. folder .. "/site.yaml")
    end

    it("puts them behind all others, and says which changed something", function()
      files.write(folder .. "/_lib/site_env.yaml", "name: NCCL_ALGO\nvalue: Ring\n")
      local rows = [[
rows:
- name: site-env
  when: {platform: {equals: aws}, expression: 'gpuArchitecture.startsWith("h")'}
  rankEnv: [{$use: site_env}, {name: FI_PROVIDER, value: tcp}]
- name: site-nothing
  when: {gpuArchitecture: {in: [h100]}}
- name: site-other
  when: {platform: {equals: gcp}}
  rankEnv: [{name: A, value: b}]
]]
      local shown = own(rows)
      assert.equal(0, shown.code, shown.stderr)
      assert.truthy(shown.stdout:find("\n#   aws-h100-efa-env\n# rows of " .. folder .. "/site.yaml that apply:\n"
        .. "#   site-env\n#   site-nothing (changed nothing)\n", 1, true), shown.stdout)
      local job = yaml.decode_all(shown.stdout)[2]
      local args = table.concat(job.spec.trainer.args, " ")
      assert.truthy(args:find("-x NCCL_ALGO=Ring -x FI_PROVIDER=tcp ", 1, true), args)
      local data = json.decode(own(rows, "--platform aws --arch h100 -f json").stdout)
      assert.same({ { name = "site-env", changed = true }, { name = "site-nothing", changed = false } }, data.own_rows)
    end)
    it("replaces what the test itself sets", function()
      local shown = own([[
rows:
- name: taints
  podSpec: {tolerations: [{key: dedicated, operator: Exists}]}
]], "loopback-nvswitch --platform aws --arch h100")
      local pod = yaml.decode_all(shown.stdout)[1].spec.template.spec.replicatedJobs[1].template.spec.template.spec
      assert.same({ { key = "dedicated", operator = "Exists" } }, pod.tolerations)
    end)
    it("says that none applies", function()
      assert.truthy(own("rows: []\n").stdout:find("\n# no row of " .. folder .. "/site.yaml applies\n", 1, true))
    end)

    local refused = {
      { "a field that there is not", "rows:\n- name: a\n  mpiarg: []", 'site.yaml: row "a": "mpiarg" is not known' },
      { "a fragment that is nowhere", "rows:\n- name: a\n  podSpec: {$use: site_pod}",
        'site.yaml: row "a": podSpec: there is no fragment _lib/site_pod.yaml' },
      { "a fragment that leads out of the folder", "rows:\n- name: a\n  podSpec: {$use: ../../x}",
        'podSpec: $use: expected the name of a fragment, got "../../x"' },
      { "a patch that does not fit", "rows:\n- name: a\n  jobTemplatePatch: [{op: remove, path: /spec/none}]",
        'row "a": jobTemplatePatch: operation 1: there is no "none"' },
      { "a job without a trainer", "rows:\n- name: a\n  jobTemplate: {spec: {workload: null}}",
        "the overrides leave the job no spec.workload.trainJob.trainer" },
      { "what is too large", ("#"):rep(1024 * 1024 + 1), "it is larger than 1 MiB" },
      { "what is no text", "rows: \xff", "it is not valid UTF-8" },
    }
    for _, row in ipairs(refused) do
      it("refuses " .. row[1], function()
        local result = own(row[2])
        assert.equal(2, result.code)
        assert.equal("", result.stdout)
        assert.truthy(result.stderr:find(row[3], 1, true), result.stderr)
      end)
    end
    it("refuses a file that there is not, and a fragment that cannot be read", function()
      local result = render("--platform aws --arch h100 --overrides " .. folder .. "/none.yaml")
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find("none.yaml: No such file or directory", 1, true), result.stderr)
      assert(os.execute("mkdir " .. folder .. "/_lib/env_efa.yaml"))
      result = own "rows:\n- name: a\n  rankEnv: [{$use: env_efa}]"
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find("_lib/env_efa.yaml: ", 1, true), result.stderr)
    end)
  end)

  describe("for the nodes of a cluster", function()
    local function on(opts, words, change)
      local folder, parts = files.folder(), fleet.cluster(opts)
      if change then
        change(parts)
      end
      local result = render("--recording " .. recording.write(folder .. "/cluster", parts) .. " " .. (words or ""))
      files.remove(folder)
      return result
    end
    local function node(parts, name)
      return fleet.find(parts, fleet.NODES, name)
    end
    local H100 <const> = { platform = "aws", arch = "h100", gpus = 8 }
    local GB200 <const> = { platform = "aws", arch = "gb200", gpus = 4, domains = true }

    it("tells nodes of several NVLink domains, and of none", function()
      local one = on(GB200)
      assert.equal("", one.stderr)
      local line = "# NVLink joins the nodes that share the label nvidia.com/gpu.clique, the network all others\n"
      assert.truthy(one.stdout:find(line, 1, true), one.stdout)
      local apart = on(GB200, "", fleet.move("n2", "other.7"))
      assert.equal(0, apart.code)
      local told = ("the nodes are not of one NVLink domain, and NVLink carries nothing between two: %s: n1, n3;"
        .. " other.7: n2; choose nodes by the label nvidia.com/gpu.clique"):format(fleet.DOMAIN)
      assert.truthy(apart.stderr:find(told, 1, true), apart.stderr)
      local silent = on(GB200, "", function(parts)
        for _, name in ipairs { "n1", "n2", "n3" } do
          fleet.move(name, nil)(parts)
        end
      end)
      local unknown = "whether the nodes share an NVLink domain is not known: none has the label nvidia.com/gpu.clique;"
        .. " look with: kubectl get nodes -L nvidia.com/gpu.clique"
      assert.truthy(silent.stderr:find(unknown, 1, true), silent.stderr)
    end)

    it("takes what they say, and names those that it leaves out", function()
      local result = on(H100, "", function(parts)
        node(parts, "n2").spec.unschedulable = true
        parts.lists[fleet.NODES].items[5] = fleet.node(4, H100)
        node(parts, "n4").status.allocatable["nvidia.com/gpu"] = "7"
      end)
      assert.same({ 0, "" }, { result.code, result.stderr })
      assert.equal("# all-reduce on aws h100: 2 nodes of 8 GPUs and 8 NICs, multi-node NVLink off\n"
        .. "# what the nodes say: 2 of 4 GPU nodes (left out: n2 (cordoned)) (left out: n4 (has 7 GPUs, needs 8))\n",
        result.stdout:match "^[^\n]*\n[^\n]*\n")
    end)
    it("prints what it prints when all is said", function()
      local told = on(H100, "-f json").stdout
      assert.equal(render("--platform aws --arch h100 --nodes 3 -f json").stdout, told)
    end)
    it("finds the resource of NICs on premises", function()
      local got = on({ platform = "onprem", arch = "b200", gpus = 8, resources = { ["rdma/ib"] = "8" } })
      assert.same({ 0, "" }, { got.code, got.stderr })
      assert.truthy(got.stdout:find('rdma/ib: "8"', 1, true), got.stdout)
    end)
    it("finds the networks of GPUDirect-TCPXO, and says which release was taken", function()
      local resources = {}
      for i = 1, 8 do
        resources["networking.gke.io.networks/site" .. i] = "1"
      end
      local got = on({ platform = "gcp", arch = "h100", gpus = 8, resources = resources })
      assert.equal(0, got.code)
      assert.truthy(got.stdout:find('"interfaceName":"eth8","network":"site8"', 1, true), got.stdout)
      assert.match("which release of the TCPXO plug%-in runs cannot be read: .*; v1.0.15 was taken\n$", got.stderr)
      assert.is_nil(got.stderr:find("networks gpu-nic0", 1, true))
    end)
    it("warns where there are fewer nodes than are asked for", function()
      local got = on(H100, "--nodes 5")
      assert.equal(0, got.code)
      assert.equal("aicr-run: warning: 5 nodes are asked for, and 3 of the cluster can take it\n", got.stderr)
    end)
    local refused = {
      { "two architectures", H100, "", 3,
        "h100 on 2, such as n1; l40s on 1, such as n3; say which one is meant with --arch NAME", function(parts)
          node(parts, "n3").metadata.labels["nvidia.com/gpu.product"] = "NVIDIA-L40S"
        end },
      { "an architecture that no node has", H100, "--arch gb200", 3,
        "none of 4 nodes has gb200 GPUs (--arch says so)" },
      { "more GPUs than any node has", H100, "--gpus 16", 3, "no node has 16 GPUs: the best has 8" },
      { "two NIC resources", { platform = "onprem", arch = "b200", gpus = 8,
        resources = { ["rdma/a"] = "8", ["rdma/b"] = "8" } }, "", 3,
        "say which one pods ask for with --nic-resource NAME" },
      { "no GPU node", H100, "", 3, "none of 1 nodes is a GPU node", function(parts)
        for i = 1, 3 do
          fleet.remove(parts, fleet.NODES, "n" .. i)
        end
      end },
    }
    for _, row in ipairs(refused) do
      it("refuses " .. row[1], function()
        local got = on(row[2], row[3], row[6])
        assert.same({ row[4], "" }, { got.code, got.stdout })
        assert.truthy(got.stderr:find(row[5], 1, true), got.stderr)
        assert.match("\naicr%-run: nothing was rendered\n$", got.stderr)
      end)
    end
    it("refuses a recording that there is not", function()
      local got = render "--recording /nonexistent"
      assert.equal(2, got.code)
      assert.match("^aicr%-run: .*/nonexistent.*\naicr%-run: nothing was rendered\n$", got.stderr)
    end)
  end)

  local NAMES <const> = "aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale"
  local rows = {
    { "", { "render needs --platform; expected one of: " .. NAMES
      .. "\n  fix  or name a cluster whose nodes say it: --kubeconfig FILE, --context NAME, --recording DIR",
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
