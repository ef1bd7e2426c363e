-- The layer rule: which includes the files of each layer may have. `premake5 check-layers` holds every file to it.
-- An entry is a file, or a folder with a slash at its end. Outside platform/ angle brackets are for the C++ standard
-- library, and for what a layer names with them: the operating system, Boost and the compiler's own headers are known to
-- platform/ and nobody else. topology/ is a library of its own, and hwloc is what it is for.

local layers = {
    ["include/weft/"]      = { "weft/" },
    ["source/platform/"]   = { "weft/", "platform/", "simulator/env_simulator.h", "relacy/env_relacy.h" },
    ["source/containers/"] = { "weft/task.h", "platform/compiler.h", "platform/env.h", "platform/memory.h", "platform/turns.h", "containers/" },
    ["source/mechanisms/"] = { "weft/", "platform/", "containers/", "mechanisms/" },
    ["source/blocking/"]   = { "weft/", "platform/", "containers/", "blocking/" },
    ["source/blocking/may_wait"] = { "weft/", "scheduler/call.h", "blocking/" },
    ["source/frame/"]      = { "weft/", "platform/compiler.h", "platform/env.h", "platform/race_finder.h", "platform/turns.h", "frame/" },
    ["source/frame/host"]  = { "weft/", "platform/race_finder.h", "scheduler/reporting.h", "frame/" },
    ["source/scheduler/"]  = { "weft/", "platform/", "containers/", "mechanisms/", "scheduler/" },
    ["source/post/"]       = { "weft/", "platform/env.h", "platform/race_finder.h", "platform/turns.h", "containers/pairing_heap.h", "containers/spin_lock.h", "scheduler/caller.h", "sync/misuse.h", "post/" },
    ["source/sync/"]       = { "weft/", "platform/compiler.h", "platform/env.h", "platform/race_finder.h", "platform/turns.h", "sync/" },
    ["source/sync/called"] = { "weft/", "scheduler/caller.h", "sync/" },
    ["source/topology/"]   = { "weft/options.h", "weft/topology/", "topology/", "<hwloc.h>" },
    ["source/topology/process_cpus_linux"] = { "topology/", "<hwloc/linux.h>", "<unistd.h>" },
    ["source/sync/misuse"] = { "weft/", "platform/memory.h", "scheduler/gate.h", "scheduler/reporting.h", "sync/" },
}

local function isAllowed(include, layer)
    for _, entry in ipairs(layers[layer]) do
        if include == entry or (entry:endswith("/") and include:startswith(entry)) then return true end
    end
    return false
end

local function complaint(layer, bracket, include)
    if bracket == "<" and not include:startswith("weft/") then
        local isStandard = include:match("^[a-z_]+$")
        if isStandard or layer == "source/platform/" or isAllowed("<" .. include .. ">", layer) then return nil end
        return "<" .. include .. "> is not a C++ standard header; only source/platform/ may include it"
    end
    if include:find("..", 1, true) or not include:find("/", 1, true) then
        return '"' .. include .. '" must be named from source/ or include/, as in "platform/env.h"'
    end
    if not isAllowed(include, layer) then
        return '"' .. include .. '" is not for ' .. layer .. ", which may include " .. table.concat(layers[layer], ", ")
    end
end

local function layerOf(file) -- the longest entry: some files may do more than the rest of their folder
    local longest
    for layer in pairs(layers) do
        if file:startswith(layer) and #layer > #(longest or "") then longest = layer end
    end
    return longest
end

local function checkFile(file, report)
    local layer, number = layerOf(file), 0
    if not layer then report(file, 1, "belongs to no layer") return end
    for line in (io.readfile(file):gsub("\r", "") .. "\n"):gmatch("(.-)\n") do
        number = number + 1
        local bracket, include = line:match('^%s*#%s*include%s*([<"])([^>"]+)[>"]')
        local message = include and complaint(layer, bracket, include)
        if message then report(file, number, message) end
    end
end

newaction {
    trigger = "check-layers",
    description = "Check that every file includes only what its layer may",
    execute = function()
        local violations = 0
        local function report(file, line, message)
            print(("%s:%d: %s"):format(file, line, message))
            violations = violations + 1
        end
        local files = os.matchfiles("include/**.h")
        for _, pattern in ipairs { "source/**.h", "source/**.cpp" } do
            files = table.join(files, os.matchfiles(pattern))
        end
        for _, file in ipairs(files) do checkFile(file, report) end
        print(("%d files, %d layer violations"):format(#files, violations))
        if violations > 0 then os.exit(1) end
    end
}
