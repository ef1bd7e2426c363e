-- `premake5 gmake2 --core=next`: the library with the scheduler of source/next/ in place of
-- source/scheduler/ and source/core/, and the tests that pass on it: tests/next.txt. Builds in
-- build/next/. Its sources end in .cc, so that no other build takes them.

local root = path.getdirectory(path.getdirectory(os.getcwd()))

-- Returns the lines of tests/next.txt without comments.
local function listed()
    local lines = {}
    for line in io.lines(root .. "/tests/next.txt") do
        line = line:gsub("%s*#.*", "")
        if line ~= "" then table.insert(lines, line) end
    end
    return lines
end

return function(testProgram)
    -- Before source/: a header that source/next/ lacks is that of source/scheduler/ or source/core/.
    local first = "-iquote " .. root .. "/source/next"
    project "weft"
        removefiles { root .. "/source/core/counter_waiting.*", root .. "/source/core/fiber_pool.*" }
        for _, folder in ipairs { "scheduler", "sync", "post", "blocking", "frame", "graph", "trace", "c" } do
            removefiles { root .. "/source/" .. folder .. "/**" }
        end
        files { root .. "/source/next/**.h", root .. "/source/next/**.cc" }
        files { root .. "/source/scheduler/api/no_suspend.cpp" } -- it needs no change
        buildoptions { first }

    local files = { "tests/support/report_log.cpp", "tests/support/scheduler_run.cpp", "tests/support/threads.cpp" }
    testProgram("unit_tests", table.join(files, listed()))
        buildoptions { first }
        pchheader "support/catch.h"
        weft.use()
end
