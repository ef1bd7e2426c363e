-- The complete build: the library, its tests, benchmarks and samples.
--
--     "$(third_party/setup.sh)" gmake2 && make -C build/premake config=release -j$(nproc)
--
-- Programs are in build/<Configuration>/. A build with another compiler or option (--cc=clang,
-- --shared, --no-exceptions, --cross) has its own folder with the same contents, such as
-- build/clang/ or build/clang-shared/. So objects of different builds never mix. Written for
-- Premake 5.0.0-alpha15. Newer versions are untested.

local action  = _ACTION or ""
local isMsvc  = action:startswith("vs")
local isClang = _OPTIONS.cc == "clang" or action:startswith("xcode")

newoption { trigger = "cross", value = "TRIPLET", description = "Build with that g++, such as aarch64-linux-gnu's" }

local function buildFolder(shared)
    local variant = {}
    if _OPTIONS.cross then table.insert(variant, _OPTIONS.cross) end
    if _OPTIONS.cc == "clang" then table.insert(variant, "clang") end
    if shared then table.insert(variant, "shared") end
    if _OPTIONS["no-exceptions"] then table.insert(variant, "no-exceptions") end
    if _OPTIONS["race-finder"] then table.insert(variant, "race-finder") end
    if _OPTIONS.pthread then table.insert(variant, "pthread") end
    if _OPTIONS.emscripten then table.insert(variant, "emscripten") end
    return path.join(_MAIN_SCRIPT_DIR, "build", table.concat(variant, "-"))
end
local build = buildFolder(_OPTIONS.shared)

workspace "weft"
    configurations { "Debug", "Release", "Asan", "Tsan" }
    location(build .. "/premake")
    targetdir(build .. "/%{cfg.buildcfg}")
    objdir(build .. "/obj/%{cfg.buildcfg}/%{prj.name}")
    language "C++"
    cppdialect "C++17"
    warnings "Extra"
    flags { "FatalWarnings" }
    symbols "On"
    exceptionhandling(_OPTIONS["no-exceptions"] and "Off" or "On")
    rtti(_OPTIONS["no-exceptions"] and "Off" or "On")
    startproject "frame_loop"
    if _OPTIONS.cross then gccprefix(_OPTIONS.cross .. "-") end
    filter "system:emscripten"
        makesettings { "CC = emcc", "CXX = em++", "AR = emar" }
        buildoptions(_OPTIONS["no-exceptions"] and {} or { "-fexceptions" })
        linkoptions(_OPTIONS["no-exceptions"] and {} or { "-fexceptions" })
        sysincludedirs { build .. "/include" } -- links to headers of the system: tests/emscripten.sh
        buildoptions { "-Wno-unused-private-field" } -- some fields are for other platforms
        linkoptions { "-O2", "-sALLOW_MEMORY_GROWTH=1" }
    filter { "system:emscripten", "kind:ConsoleApp" }
        targetextension ".js"
    filter {}

    filter "configurations:Debug"
        defines { "WEFT_DEBUG=1" }
    filter "configurations:Release"
        defines { "NDEBUG" }
        optimize "On"
    filter "configurations:*san"
        defines { "WEFT_DEBUG=1" }

if isMsvc then
    filter {}
        architecture "x86_64"
        flags { "MultiProcessorCompile" }
else
    local machine = _OPTIONS.cross or os.outputof("uname -m") or ""
    filter {}
        buildoptions { "-Wpedantic", "-Wshadow", "-Wnon-virtual-dtor", "-Wold-style-cast", "-Wcast-align", "-Wundef" }
    filter "system:linux"
        buildoptions { "-fstack-clash-protection" }
        if machine:startswith("x86_64") then buildoptions { "-fcf-protection" } end
    filter { "system:linux", "configurations:Release" }
        linkoptions { "-Wl,-z,relro,-z,now" }
    filter { "system:windows", "kind:ConsoleApp" } -- mingw's own libraries are nobody else's
        linkoptions { "-static" }
    filter "configurations:*san"
        buildoptions { "-O1", "-fno-omit-frame-pointer" }
    for name, flags in pairs {
        Asan = { "-fsanitize=address,undefined", "-fno-sanitize-recover=all" },
        Tsan = { "-fsanitize=thread" },
    } do
        filter("configurations:" .. name)
            buildoptions(flags)
            linkoptions(flags)
    end
    if not isClang then
        filter "configurations:*san" -- g++ warns of every fence under TSan, and of its own headers under ASan
            buildoptions { "-Wno-tsan", "-Wno-maybe-uninitialized" }
    end
end
filter {}

include "source/weft.lua"
dofile "source/layers.lua"
dofile "third_party/amalgamate/amalgamate.lua"
dofile "third_party/unity/unity.lua"
dofile "third_party/doxygen/docs.lua"
dofile "bench/trace/page/embed.lua"

-- Defines a program from the sources that match the patterns. Returns false if there are none.
local function program(name, patterns)
    local sources = {}
    for _, pattern in ipairs(patterns) do sources = table.join(sources, os.matchfiles(pattern)) end
    if #sources == 0 then return false end
    project(name)
        kind "ConsoleApp"
        files(sources)
        weft.removeOtherPlatforms()
    for _, source in ipairs(sources) do -- CLI11 needs exceptions, whatever the rest is built with
        if io.readfile(source):find("#include <CLI/", 1, true) then
            exceptionhandling "On"
            rtti "On"
        end
    end
    return true
end

local function linkPng()
    links { "png" }
    if _OPTIONS.cross then links { "z" } end -- which a static libpng needs
end

-- Catch2 needs exceptions in all builds.
local function useCatch()
    exceptionhandling "On"
    rtti "On"
    defines { "CATCH_CONFIG_FAST_COMPILE" } -- no try block around each CHECK
end

-- All of Catch2, and main().
project "test_main"
    kind "StaticLib"
    files { "tests/main.cpp", "tests/case_limit.cpp" }
    useCatch()
    includedirs { "include", "source" }
    weft.defineOptions()
    weft.useLibraries() -- in a cross build the headers of Catch2 lie beside those of Boost
    if not isMsvc then buildoptions { "-O0" } end -- optimising it takes up to a minute

-- Defines a test program from the sources that match the patterns. `ownMain`: one of them has main().
local function testProgram(name, patterns, ownMain)
    if not program(name, patterns) then return false end
    useCatch()
    includedirs { "source", "tests" }
    if not ownMain then links { "test_main" } end
    return true
end

-- Lets allocations fail when a test asks for it (tests/support/failing_allocation.cpp).
local function letAllocationsFail()
    filter "system:linux"
        linkoptions { "-Wl,--wrap=_ZnwmSt11align_val_tRKSt9nothrow_t,--wrap=_ZdlPvSt11align_val_t" }
    filter "system:emscripten"
        linkoptions { "-Wl,--wrap=_ZnwjSt11align_val_tRKSt9nothrow_t,--wrap=_ZdlPvSt11align_val_t" }
    filter "system:windows"
        linkoptions { "-Wl,--wrap=_ZnwySt11align_val_tRKSt9nothrow_t,--wrap=_ZdlPvSt11align_val_t" }
    filter {}
end

local function inTests(...)
    return table.translate({ ... }, function(folder) return "tests/" .. folder .. "/**.cpp" end)
end

-- Adds the sources of the library, compiled for another environment.
local function simulated()
    files { "source/**.cpp" }
    removefiles { "source/topology/**.cpp", "source/io/**.cpp", "source/platform/env_production.cpp", "source/platform/parker*.cpp", "source/platform/thread_*.cpp",
                  "source/platform/fork_mark_*.cpp", "source/platform/cpu_quota_*.cpp", "source/platform/off_cpu_*.cpp", "source/platform/signal_stack_*.cpp" }
    defines { "WEFT_SIMULATOR=1" }
    forceincludes { "tests/simulator/env_simulator.h" }
    includedirs { "include" }
    weft.removeOtherPlatforms()
    weft.useLibraries()
    weft.useAssembly()
end

-- A shared library hides what most tests use. So its only test is this one, which needs only the
-- public headers.
if testProgram("public_api", inTests("install")) then
    removefiles { "tests/install/consumer.cpp" }
    weft.use()
end

-- What debuggers look at: tests/debuggers.sh. Its tasks wait for ever.
if program("deadlock", { "tests/debuggers/deadlock.cpp" }) then
    weft.use()
end

if not _OPTIONS.shared then

local unitTests = { "support", "platform", "containers", "core", "scheduler", "sync", "post", "blocking", "c", "algorithms",
                    "data", "frame", "trace", "samples", "bench", "graph" }
if weft.hasTopology then table.insert(unitTests, "topology") end
if weft.hasIo then table.insert(unitTests, "io") end
local hasPlugin = os.istarget("linux") and not _OPTIONS.cross
if hasPlugin then table.insert(unitTests, "plugin") end

if testProgram("unit_tests", inTests(table.unpack(unitTests))) then
    files { "samples/frame_loop/**.cpp", "bench/frame/*.cpp", "bench/bodies.cpp", "bench/rounds.cpp", "bench/trace/*.cpp",
            "bench/machine/what_if/recorded_work.cpp" }
    removefiles { "samples/frame_loop/main.cpp", "samples/frame_loop/window_emscripten.cpp", "bench/frame/main.cpp", "bench/trace/main.cpp", "bench/trace/export_html.cpp",
                  "tests/plugin/plugin.cpp" }
    includedirs { "samples", "bench" }
    if hasPlugin then
        dependson "test_plugin"
        links "dl"
    end
    if not isMsvc then
        pchheader "support/catch.h"
        filter "configurations:*san" -- the library is optimised, and so are the samples; the tests need not be
            buildoptions { "-O0" }
        filter "configurations:not Debug" -- lines for stack traces, but no variables
            buildoptions { "-g1" }
        filter "files:not tests/**.cpp"
            flags { "NoPCH" }
        filter { "configurations:*san", "files:not tests/**.cpp" }
            buildoptions { "-O1" }
        filter { "configurations:*san", "files:tests/algorithms/parallel_sort_test.cpp" } -- it sorts much
            flags { "NoPCH" }
            buildoptions { "-O1" }
        -- Tests of the sources that are compiled apart, in the library. They take most of the time
        -- to compile all tests.
        local apart = "files:tests/platform/** or tests/scheduler/** or tests/sync/** or tests/frame/** or tests/blocking/** or "
            .. "tests/graph/** or tests/c/** or tests/io/** or tests/post/** or tests/trace/** or tests/samples/** or tests/bench/**"
        if not isClang then -- which wants all that use a precompiled header optimised as that is
            filter { "configurations:Release", apart }
                buildoptions { "-O0" }
        end
        filter { "configurations:Asan", "files:tests/**.cpp" } -- UBSan checks weft's headers in tests/fuzz/
            buildoptions { "-fno-sanitize=undefined" }
        filter "files:tests/**/coroutine_test.cpp"
            flags { "NoPCH" }
            buildoptions { "-std=c++20" }
        filter {}
    else
        filter "files:tests/**/coroutine_test.cpp"
            buildoptions { "/std:c++20" }
        filter {}
    end
    if weft.hasTopology then weft.useTopology() end
    if weft.hasIo then weft.useIo() end
    weft.use()
    linkPng()
    if _OPTIONS["race-finder"] and isClang then
        buildoptions { "-fsanitize-ignorelist=" .. path.getabsolute("tests/race.ignore") }
    end
    letAllocationsFail()
end

-- A library that contains weft. unit_tests loads and unloads it.
if hasPlugin then
    project "test_plugin"
        kind "SharedLib"
        files { "tests/plugin/plugin.cpp" }
        weft.use()
        targetprefix ""
        -- Otherwise the linker keeps symbols that are unique in the process, and such a library is never unloaded.
        linkoptions "-Wl,--exclude-libs,ALL"
end

-- The quarter of unit_tests that depends most on the processor, the operating system, memory orders
-- and the sizes of stack frames. It has all files with tests that find a seeded bug only under
-- ThreadSanitizer (`grep -rh "config: Tsan" tests/mutants`).
if testProgram("short_tests", {
    "tests/platform/*.cpp", "tests/core/*.cpp", "tests/containers/*.cpp", "tests/sync/*.cpp", "tests/post/*.cpp",
    "tests/blocking/*.cpp", "tests/frame/block_pool_test.cpp", "tests/frame/frame_params_test.cpp",
    "tests/scheduler/attach_test.cpp", "tests/scheduler/closure_test.cpp", "tests/scheduler/deep_waits_test.cpp",
    "tests/scheduler/fiber_switch_test.cpp", "tests/scheduler/ready_test.cpp", "tests/scheduler/time_test.cpp",
    "tests/scheduler/wait_test.cpp",
    "tests/support/*.cpp",
}) then
    if not isMsvc then
        pchheader "support/catch.h"
        filter "configurations:not Debug"
            buildoptions { "-O0", "-g1" }
    end
    filter {}
    weft.use()
    letAllocationsFail()
end

-- The tests that make sense with one thread: tests/emscripten.sh.
if _OPTIONS.emscripten and testProgram("browser_tests", {
    "tests/algorithms/parallel_for_test.cpp", "tests/core/counter*_test.cpp", "tests/data/result_test.cpp",
    "tests/data/task_group_test.cpp", "tests/data/worker_local_test.cpp", "tests/graph/*.cpp",
    "tests/platform/fiber_context_test.cpp", "tests/scheduler/deep_waits_test.cpp", "tests/scheduler/fiber_switch_test.cpp",
    "tests/scheduler/single_thread_test.cpp", "tests/scheduler/time_test.cpp", "tests/scheduler/wait_test.cpp",
    "tests/support/*.cpp", "tests/sync/event_test.cpp", "tests/sync/mutex_test.cpp", "tests/sync/semaphore_test.cpp",
    "tests/sync/wait_group_test.cpp",
}) then
    buildoptions { "-O0", "-g0" }
    linkoptions { "-Wl,--wrap=pthread_create,--wrap=fork" }
    weft.use()
    letAllocationsFail()
end

if testProgram("simulator", inTests("simulator"), true) then
    files { "tests/support/pages_*.cpp" }
    filter "files:tests/simulator/coroutine_models.cpp"
        buildoptions { isMsvc and "/std:c++20" or "-std=c++20" }
    filter {}
    simulated()
    removefiles { "source/platform/stack_memory_*.cpp" }
end

-- Runs for a given time: tests/soak.sh.
if program("soak", { "tests/soak/*.cpp" }) then
    includedirs { "tests" }
    filter "files:tests/soak/coroutines.cpp"
        buildoptions { isMsvc and "/std:c++20" or "-std=c++20" }
    filter {}
    if weft.hasIo then
        defines { "SOAK_HAS_IO=1" }
        weft.useIo()
    end
    weft.use()
end

if testProgram("allocation_gate", inTests("allocation")) then
    weft.use()
end

local runHelpers = { "tests/support/report_log.cpp", "tests/support/scheduler_run.cpp", "tests/support/threads.cpp" }

-- Lets functions of the C library that weft calls fail when this program asks for it.
if os.istarget("linux") and program("faults", { "tests/faults/*.cpp" }) then
    files(runHelpers)
    includedirs { "source", "tests" }
    weft.use()
    linkoptions { "@" .. path.getabsolute("tests/faults/wrap.options") }
end

-- Tests of the adapters for other libraries, if these are installed: tests/adapters.sh.
local hasAdapted = os.istarget("linux") and not _OPTIONS.cross and os.findheader("jxl/encode.h")
    and os.findheader("ode/threading.h") and os.findheader("OpenEXR/ImfHeader.h") and os.findheader("asio/execution.hpp")
    and os.findheader("tbb/task_arena.h")
if hasAdapted and testProgram("adapter_tests", inTests("adapters")) then
    files(runHelpers)
    includedirs { "third_party" }
    sysincludedirs { "/usr/include/OpenEXR", "/usr/include/Imath" }
    links { "jxl", "jxl_threads", "ode", "OpenEXR", "IlmThread", "Iex", "tbb" }
    weft.use()
end

end

-- A program for libFuzzer, with the sources of the library: tests/fuzz.sh.
local function fuzzer(name, sources)
    if not isClang or _OPTIONS.shared or not program(name, sources) then return end
    files { "source/**.cpp" }
    removefiles { "source/topology/**.cpp", "source/io/**.cpp" }
    includedirs { "include", "source", "tests", "samples" }
    weft.removeOtherPlatforms()
    weft.useLibraries()
    weft.useAssembly()
    buildoptions { "-fsanitize=fuzzer" }
    linkoptions { "-fsanitize=fuzzer" }
    filter "files:tests/fuzz/coroutines.cpp"
        -- clang 14 cannot check the types of functions that it splits into coroutines
        buildoptions { "-std=c++20", "-fno-sanitize=function" }
    filter {}
end

fuzzer("fuzz", { "tests/fuzz/*.cpp" })
fuzzer("fuzz_wad", { "tests/fuzz/wad/*.cpp", "samples/frame_loop/*.cpp" })
if isClang and not _OPTIONS.shared then
    removefiles { "samples/frame_loop/main.cpp" }
    linkPng()
end

fuzzer("fuzz_trace", { "tests/fuzz/trace/*.cpp", "tests/trace/checked_timeline.cpp", "bench/trace/*.cpp" })
if isClang and not _OPTIONS.shared then
    removefiles { "bench/trace/main.cpp", "bench/trace/export_html.cpp", "source/**.cpp" } -- it needs no library
    includedirs { "bench" }
end

if program("bench", { "bench/*.cpp", "bench/frame/description.cpp", "bench/frame/ideal.cpp" }) then
    includedirs { "bench" }
    if weft.hasIo then weft.useIo() end
    weft.use()
    -- Other systems, if they are installed (bench/run.sh installs them). OpenMP is that of g++.
    filter { "system:linux", "toolset:not clang" }
        buildoptions { "-fopenmp" }
        linkoptions { "-fopenmp" }
    filter {}
    if os.isfile("/usr/include/tbb/task_group.h") then links { "tbb" } end
    if os.isfile("/usr/include/boost/fiber/all.hpp") then links { "boost_fiber" } end
end

-- The sources of the library on a machine in virtual time, which also runs described frames.
if not _OPTIONS.shared and program("machine", { "bench/machine/**.cpp", "bench/frame/*.cpp", "bench/rounds.cpp",
        "bench/trace/trace_file.cpp", "bench/trace/timeline.cpp", "bench/trace/critical_path.cpp",
        "bench/trace/output.cpp" }) then
    removefiles { "bench/frame/main.cpp", "bench/frame/plot.cpp", "bench/frame/clock.cpp" }
    simulated()
    includedirs { "bench", "tests", "source" }
end

-- Frames of dependent stages, described in text or made by a user's own program.
if program("frame_bench", { "bench/frame/*.cpp", "bench/bodies.cpp", "bench/rounds.cpp" }) then
    includedirs { "bench" }
    weft.use()
end
if program("frame_example", { "bench/frame/*.cpp", "bench/frame/example/*.cpp", "bench/bodies.cpp", "bench/rounds.cpp" }) then
    removefiles { "bench/frame/main.cpp", "bench/frame/description.cpp" }
    includedirs { "bench" }
    weft.use()
end

-- The time of a switch, natively and in a browser's engine: tests/emscripten.sh --bench.
if program("switches", { "bench/switches/*.cpp" }) then
    weft.use()
end

-- Shows and converts recordings.
if program("weft_trace", { "bench/trace/*.cpp" }) then
    includedirs { "bench" }
    usePageTemplate()
    weft.use()
end

-- Records a run, and writes the page of a recording: tests/trace_page.sh.
if program("trace_page", { "tests/trace_page/*.cpp", "bench/trace/export_html.cpp" }) then
    includedirs { "bench" }
    usePageTemplate()
    weft.use()
end

local hasSdl = os.istarget("linux") and not _OPTIONS.cross and os.findheader("SDL2/SDL.h") ~= nil
for _, folder in ipairs(os.matchdirs("samples/*")) do
    local name = path.getname(folder)
    local hasAll = name ~= "async_io" or weft.hasIo
    if hasAll and program(name, { folder .. "/**.cpp", folder .. "/**.c" }) then
        includedirs { "samples" }
        if name == "async_io" then weft.useIo() end
        weft.use()
        if #os.matchfiles(folder .. "/**.c") > 0 then -- language stays C++, so that the linker adds C++'s library
            cdialect "C99"
            removebuildoptions { "-Wnon-virtual-dtor", "-Wold-style-cast" } -- which gcc refuses for C
        end
        if name == "frame_loop" and _OPTIONS.emscripten then
            removefiles { folder .. "/window.cpp" }
            linkoptions { "-sASYNCIFY_STACK_SIZE=65536" } -- for the functions that wait for the browser
        elseif name == "frame_loop" then
            linkPng()
            if hasSdl then -- for --window
                defines { "FRAME_LOOP_SDL=1" }
                links { "SDL2" }
            end
        end
        if name == "coroutines" then buildoptions { isMsvc and "/std:c++20" or "-std=c++20" } end
        if name == "hot_reload" then
            removefiles { folder .. "/module/**" }
            dependson { "hot_reload_1", "hot_reload_2" }
            filter "system:linux"
                links { "dl" }
            filter {}
        end
    end
end

for version = 1, 2 do -- the modules that samples/hot_reload loads
    project("hot_reload_" .. version)
        kind "SharedLib"
        files { "samples/hot_reload/module/*.cpp" }
        includedirs { "include", "samples" }
        defines { "VERSION=" .. version }
        flags { "NoImportLib" }
        targetprefix ""
        targetextension ".module"
end

-- Builds objects again when the flags in their makefile change.
local hasGmake, gmake = pcall(require, "gmake2")
if hasGmake and premake.modules.gmake2 then
    premake.override(premake.modules.gmake2.cpp.elements, "makefile", function(base, prj)
        return table.join(base(prj), { function() premake.outln("$(OBJECTS): $(firstword $(MAKEFILE_LIST))") end })
    end)
end

local function clangFormat(arguments)
    local files = {}
    for _, folder in ipairs { "include", "source", "tests", "bench", "samples", "third_party" } do
        for _, extension in ipairs { ".h", ".cpp", ".c" } do
            files = table.join(files, os.matchfiles(folder .. "/**" .. extension))
        end
    end
    if #files > 0 and not os.execute("clang-format " .. arguments .. " '" .. table.concat(files, "' '") .. "'") then
        os.exit(1)
    end
end

newaction {
    trigger = "format",
    description = "Format all C++ sources with clang-format",
    execute = function() clangFormat("-i") end
}

newaction {
    trigger = "check-format",
    description = "Check that all C++ sources are formatted",
    execute = function() clangFormat("--dry-run --Werror") end
}

newoption { trigger = "prefix", value = "DIR", description = "Where `install` puts weft; /usr/local if not given" }
newoption { trigger = "destdir", value = "DIR", description = "Folder that `install` takes for the root, for packagers" }

newaction {
    trigger = "install",
    description = "Install the headers, the Release libraries that are built, weft.pc and the CMake files",
    execute = function()
        local prefix = path.getabsolute(_OPTIONS.prefix or "/usr/local", _WORKING_DIR)
        local target = prefix
        if _OPTIONS.destdir then target = path.getabsolute(_OPTIONS.destdir, _WORKING_DIR) .. prefix end

        local function write(file, content)
            file = path.join(target, file)
            os.mkdir(path.getdirectory(file))
            local ok, message = io.writefile(file, content)
            if not ok then error(message, 0) end
            print(file)
        end
        local function copy(from, folder)
            local to = path.join(target, folder, path.getname(from))
            os.mkdir(path.getdirectory(to))
            local ok, message = os.copyfile(from, to)
            if not ok then error(message, 0) end
            print(to)
        end

        local static = os.matchfiles(buildFolder(false) .. "/Release/libweft.a")
        local shared = os.matchfiles(buildFolder(true) .. "/Release/libweft.*")
        if #static + #shared == 0 then
            error("nothing to install: no library in " .. buildFolder(_OPTIONS.shared) .. "/Release", 0)
        end
        local others = os.matchfiles(buildFolder(false) .. "/Release/libweft_*.a") -- weft_topology, weft_io
        for _, file in ipairs(table.join(static, shared, others)) do copy(file, "lib") end
        for _, file in ipairs(os.matchfiles("include/weft/**.h")) do copy(file, path.getdirectory(file)) end
        for _, file in ipairs(os.matchfiles("third_party/debugger/weft*")) do copy(file, "share/weft/debugger") end
        if #shared > 0 then copy("third_party/debugger/libweft.so-gdb.py", "lib") end

        local libraries = weft.assembly and "-pthread" or "-lboost_context -pthread"
        if _OPTIONS.boost and not weft.assembly then
            libraries = "-L" .. path.getabsolute(_OPTIONS.boost, _WORKING_DIR) .. "/lib " .. libraries
        end
        local values = {
            WEFT_VERSION = weft.version,
            WEFT_PREFIX = prefix,
            WEFT_LIBDIR = "${prefix}/lib",
            WEFT_INCLUDEDIR = "${prefix}/include",
            WEFT_LIBS = #shared == 0 and " " .. libraries or "", -- nobody asks for --static where there is nothing else
            WEFT_LIBS_PRIVATE = #shared == 0 and "" or " " .. libraries,
            WEFT_CFLAGS = "",
            WEFT_HAS_ASSEMBLY = weft.assembly and "ON" or "OFF",
        }
        local function fill(from, to)
            local content = io.readfile("third_party/" .. from):gsub("@(WEFT_[A-Z_]+)@", values)
            write(to, content)
        end
        fill("weft.pc.in", "lib/pkgconfig/weft.pc")
        fill("cmake/weftConfig.cmake.in", "lib/cmake/weft/weftConfig.cmake")
        fill("cmake/weftConfigVersion.cmake.in", "lib/cmake/weft/weftConfigVersion.cmake")
        copy("third_party/cmake/weftDependencies.cmake", "lib/cmake/weft")
        copy("third_party/cmake/weftTargets.cmake", "lib/cmake/weft")
    end
}

newaction {
    trigger = "compile-commands",
    description = "Write build/compile_commands.json (Debug)",
    execute = function()
        local tool, entries = premake.tools[_OPTIONS.cc or "gcc"], {}
        local function quoted(text) return '"' .. text:gsub('[\\"]', '\\%0') .. '"' end
        for workspace in premake.global.eachWorkspace() do
            for project in premake.workspace.eachproject(workspace) do
                local cfg = premake.project.getconfig(project, "Debug")
                local flags = table.concat(table.join(tool.getcxxflags(cfg), cfg.buildoptions,
                    tool.getdefines(cfg.defines), tool.getincludedirs(cfg, cfg.includedirs, cfg.sysincludedirs)), " ")
                for _, file in ipairs(cfg.files) do
                    if path.iscppfile(file) then
                        table.insert(entries, ('{"directory": %s, "file": %s, "command": %s}'):format(
                            quoted(project.location), quoted(file), quoted("c++ " .. flags .. " -c " .. file)))
                    end
                end
            end
        end
        io.writefile("build/compile_commands.json", "[\n" .. table.concat(entries, ",\n") .. "\n]\n")
    end
}
