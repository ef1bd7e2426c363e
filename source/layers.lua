-- The layer rule: which includes the files of each folder may have. `premake5 check-layers` checks
-- every file. An entry is a file, or a folder with a slash at its end. Inside of source/scheduler/
-- each folder is a layer, too. Includes must not form a circle. For this check a header and its
-- source file count as one. Inside of platform/ circles are allowed, because its files share env.h,
-- the seam.
--
-- Angle brackets are for the C++ standard library. Only platform/ includes headers of the operating
-- system, of Boost and of the compiler. weft.h includes headers of C. topology/ and io/ are libraries of their own. The one
-- includes hwloc, the other liburing and headers of Linux.
-- tracy.h includes Tracy's header if the program defines TRACY_ENABLE.

local below = { "weft/", "platform/", "containers/", "core/" }
local door = "scheduler/api/internal_api.h"  -- what the parts above the scheduler may use of it

local function scheduler(...)
    local allowed = table.join({}, below)
    for _, folder in ipairs { ... } do table.insert(allowed, "scheduler/" .. folder .. "/") end
    return allowed
end

local function above(folder, ...)
    return { "weft/", "platform/compiler.h", "platform/env.h", "platform/race_finder.h", "platform/backoff.h", "platform/memory.h",
             door, folder .. "/", ... }
end

-- diagnose/ looks at the scheduler from beside. watch.h is what the layers below call of it.
local function inScheduler(...)
    return table.join(scheduler("state", "submit", "policy", ...), "scheduler/diagnose/watch.h")
end

local layers = {
    ["include/weft/"]            = { "weft/" },
    ["include/weft/trace/tracy.h"] = { "weft/", "<tracy/TracyC.h>" },
    ["include/weft/weft.h"]      = { "weft/", "<stdbool.h>", "<stddef.h>", "<stdint.h>" },
    ["source/platform/"]         = { "weft/", "platform/", "simulator/env_simulator.h", "relacy/env_relacy.h" },
    ["source/containers/"]       = { "weft/task.h", "platform/compiler.h", "platform/env.h", "platform/memory.h", "platform/backoff.h", "containers/" },
    ["source/core/"]             = { "weft/", "platform/", "containers/", "core/" },
    ["source/scheduler/state/"]  = scheduler("state"),
    ["source/scheduler/submit/"] = scheduler("state", "submit"),
    ["source/scheduler/policy/"] = inScheduler(),
    ["source/scheduler/run/"]    = inScheduler("run"),
    ["source/scheduler/wait/"]   = inScheduler("run", "wait"),
    ["source/scheduler/life/"]   = inScheduler("run", "wait", "life"),
    ["source/scheduler/api/"]    = inScheduler("run", "wait", "life", "api"),
    ["source/scheduler/diagnose/"] = inScheduler("run", "wait", "life", "api", "diagnose"),
    ["source/sync/"]             = above("sync"),
    ["source/post/"]             = above("post", "containers/pairing_heap.h", "containers/spin_lock.h"),
    ["source/frame/"]            = above("frame"),
    ["source/graph/"]            = above("graph"),
    ["source/trace/"]            = above("trace", "core/", "platform/file_writer.h"),
    ["source/blocking/"]         = table.join({ "platform/", "containers/" }, above("blocking")),
    ["source/c/"]                = { "weft/", "c/" },
    ["source/io/"]               = { "weft/", "platform/env.h", "containers/push_list.h", "io/", "<liburing.h>", "<poll.h>", "<sys/eventfd.h>",
                                     "<sys/socket.h>", "<sys/stat.h>", "<sys/types.h>", "<unistd.h>" },
    ["source/topology/"]         = { "weft/options.h", "weft/topology/", "topology/", "<hwloc.h>" },
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

-- A file may be a layer inside of that of its folder.
local function layerOf(file)
    local found
    for layer in pairs(layers) do
        if file:startswith(layer) and (not found or #layer > #found) then found = layer end
    end
    return found
end

local function eachInclude(file, act)
    local number = 0
    for line in (io.readfile(file):gsub("\r", "") .. "\n"):gmatch("(.-)\n") do
        number = number + 1
        local bracket, include = line:match('^%s*#%s*include%s*([<"])([^>"]+)[>"]')
        if include then act(number, bracket, include) end
    end
end

local function checkFile(file, report)
    local layer = layerOf(file)
    if not layer then report(file, 1, "belongs to no layer") return end
    eachInclude(file, function(number, bracket, include)
        local message = complaint(layer, bracket, include)
        if message then report(file, number, message) end
    end)
end

-- Returns the unit of a file: a header and its source files, also those for one platform.
local function unitOf(file)
    return (file:gsub("^source/", ""):gsub("^include/", ""):gsub("%.%w+$", ""):gsub("_windows$", ""):gsub("_linux$", ""):gsub("_posix$", ""):gsub("_pthread$", "")
        :gsub("_emscripten$", ""):gsub("_boost$", ""))
end

local function checkCircles(files, report)
    local includes, fileOf = {}, {}
    for _, file in ipairs(files) do
        local unit = unitOf(file)
        includes[unit] = includes[unit] or {}
        fileOf[unit] = file
        eachInclude(file, function(_, bracket, include)
            if bracket == '"' and unitOf(include) ~= unit then includes[unit][unitOf(include)] = true end
        end)
    end
    local state, trail = {}, {}
    local function visit(unit)
        if state[unit] == "done" or not includes[unit] then return end
        table.insert(trail, unit)
        if state[unit] == "open" then
            report(fileOf[unit], 1, "is in a circle of includes: " .. table.concat(trail, ", ", table.indexof(trail, unit)))
        else
            state[unit] = "open"
            for other in pairs(includes[unit]) do visit(other) end
            state[unit] = "done"
        end
        table.remove(trail)
    end
    for unit in pairs(includes) do visit(unit) end
end

newaction {
    trigger = "check-layers",
    description = "Check that every file includes only what its layer may, and that no includes form a circle",
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
        local count = #files
        checkCircles(table.filter(files, function(file) return not file:startswith("source/platform/") end), report)
        print(("%d files, %d layer violations"):format(count, violations))
        if violations > 0 then os.exit(1) end
    end
}

-- How long the scheduler is, how long it may be now, and how long it is to become. The second number
-- only falls.
local budgets = {
    { "core/ and scheduler/ without diagnose/", { "source/core/**", "source/scheduler/**" }, "scheduler/diagnose/", 9886, 6500 },
    { "policy/, submit/, run/ and wait/", { "source/scheduler/policy/**", "source/scheduler/submit/**", "source/scheduler/run/**",
                                            "source/scheduler/wait/**" }, nil, 4036, 3000 },
    { "diagnose/", { "source/scheduler/diagnose/**" }, nil, 1676, 1500 },
    { "source/README.md", { "source/README.md" }, nil, 150, 150 },
}

newaction {
    trigger = "check-budgets",
    description = "Check that the scheduler does not become longer",
    execute = function()
        local failed = false
        for _, budget in ipairs(budgets) do
            local what, patterns, without, most, goal = table.unpack(budget)
            local lines = 0
            for _, pattern in ipairs(patterns) do
                for _, file in ipairs(os.matchfiles(pattern)) do
                    local counts = not without or not file:find(without, 1, true)
                    if counts then lines = lines + select(2, io.readfile(file):gsub("\n", "")) end
                end
            end
            print(("%-42s %6d lines, at most %6d, goal %6d"):format(what, lines, most, goal))
            failed = failed or lines > most
        end
        if failed then os.exit(1) end
    end
}
