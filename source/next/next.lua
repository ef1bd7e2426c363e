-- `premake5 gmake2 --core=next`: the library with the scheduler of source/next/ in place of
-- source/scheduler/ and source/core/, and the tests that pass on it: tests/next.txt. Builds in
-- build/next/. Its sources end in .cc, so that no other build takes them.

local root = path.getdirectory(path.getdirectory(os.getcwd()))

-- Returns the lines of tests/next.txt without comments.
local function listed()
    local lines = {}
    for line in io.lines(root .. "/tests/next.txt") do
        line = line:gsub("%s*#.*", "")
        if line ~= "" and not line:startswith("~") then table.insert(lines, line) end
    end
    return lines
end

return function(testProgram, letAllocationsFail, simulated)
    -- Before source/: a header that source/next/ lacks is that of source/scheduler/ or source/core/.
    local first = "-iquote " .. root .. "/source/next"

    -- Puts the new scheduler in the place of the old one in the current project.
    local function replaceScheduler()
        removefiles { root .. "/source/core/counter_waiting.*", root .. "/source/core/fiber_pool.*" }
        removefiles { root .. "/source/scheduler/**" }
        files { root .. "/source/next/**.h", root .. "/source/next/**.cc" }
        for _, name in ipairs { "no_suspend", "poll", "task_group" } do -- they need no change
            files { root .. "/source/scheduler/api/" .. name .. ".cpp" }
        end
        files { root .. "/source/scheduler/state/stack_sample.cpp" }
        buildoptions { first }
    end

    project "weft"
        replaceScheduler()
        defines { "WEFT_NEXT=1" }

    testProgram("unit_tests", table.join({ "tests/support/*.cpp", "bench/trace/*.cpp",
                                          "tests/trace/checked_timeline.cpp", "tests/trace/json.cpp",
                                          "tests/trace/protobuf.cpp", "tests/trace/written_recording.cpp" }, listed()))
        removefiles { "tests/support/*_test*.cpp", "tests/support/*_windows.cpp", "bench/trace/main.cpp",
                      "bench/trace/export_html.cpp" }
        includedirs { "bench" }
        defines { "WEFT_NEXT=1" }
        letAllocationsFail()
        buildoptions { first }
        pchheader "support/catch.h"
        weft.use()
        filter { "configurations:Release", "files:tests/**" } -- as in premake5.lua
            buildoptions { "-O0" }
        filter "files:bench/**"
            flags { "NoPCH" }
        filter "files:tests/**/coroutine_test.cpp"
            flags { "NoPCH" }
            buildoptions { "-std=c++20" }
        filter {}
        if _OPTIONS["race-finder"] and _OPTIONS.cc == "clang" then
            buildoptions { "-O0", "-fsanitize-ignorelist=" .. root .. "/tests/race.ignore" }
        end

    if _OPTIONS["race-finder"] and testProgram("race_finder", { "samples/race_finder/*.cpp" }, true) then
        weft.use()
    end

    testProgram("allocation_gate", { "tests/allocation/**.cpp" })
        buildoptions { first }
        weft.use()

    -- All models, with the program's own sources of the library (tests/simulator/README.md).
    testProgram("simulator", { "tests/simulator/*.cpp", "tests/simulator/next/*.cc", "tests/support/pages_*.cpp" }, true)
        defines { "WEFT_NEXT=1" }
        filter "files:tests/simulator/coroutine_models.cpp"
            buildoptions { "-std=c++20" }
        filter {}
        simulated()
        replaceScheduler()
        removefiles { root .. "/source/platform/stack_memory_*.cpp" }
end
