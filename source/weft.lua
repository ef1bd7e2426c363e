-- The project of the library. The Premake script of a user needs only these lines:
--
--     workspace "game" ...
--     include "third_party/weft/source/weft.lua"
--     project "game" ...
--         if weft.hasTopology then weft.useTopology() end
--         if weft.hasIo then weft.useIo() end
--         weft.use()
--
-- The first two lines are for include/weft/topology/topology.h, if hwloc is installed, and for
-- include/weft/io/async_io.h, on Linux. Written for Premake 5.0.0-alpha15. Newer versions are
-- untested.

newoption { trigger = "shared", description = "Build weft as a shared library" }
newoption { trigger = "no-exceptions", description = "Build weft without C++ exceptions and RTTI" }
newoption { trigger = "race-finder", description = "Build weft so that configuration Tsan finds races between tasks" }
newoption { trigger = "pthread", description = "Build weft for Linux as for a system that has only the calls of POSIX" }
newoption { trigger = "emscripten", description = "Build weft for WebAssembly with Emscripten: source/platform/README.md" }
newoption { trigger = "boost", value = "DIR", description = "Boost's install prefix or sources, if not the system's" }

if _OPTIONS.emscripten then
    premake.api.addAllowed("system", "emscripten")
    _TARGET_OS = "emscripten"
end

weft = { source = os.getcwd() }
weft.root = path.getdirectory(weft.source)
weft.version = table.concat({ io.readfile(weft.root .. "/include/weft/version.h")
    :match("MAJOR (%d+).-MINOR (%d+).-PATCH (%d+)") }, ".")

-- Each of these files belongs to certain operating systems. Removes them from the current project
-- for the others.
function weft.removeOtherPlatforms()
    filter "system:linux"
        removefiles { weft.root .. "/**_windows.cpp", weft.root .. (_OPTIONS.pthread and "/**_linux.cpp" or "/**_pthread.cpp") }
    filter "system:windows"
        removefiles { weft.root .. "/**_linux.cpp", weft.root .. "/**_posix.cpp", weft.root .. "/**_pthread.cpp" }
    filter { "system:not linux", "system:not windows" }
        removefiles { weft.root .. "/**_linux.cpp", weft.root .. "/**_windows.cpp" }
    filter "system:not emscripten"
        removefiles { weft.root .. "/**_emscripten.cpp" }
    filter "system:emscripten" -- each of its files replaces that for POSIX, of the same name
        removefiles { weft.root .. "/**_boost.cpp" }
        for _, file in ipairs(os.matchfiles(weft.source .. "/**_emscripten.cpp")) do
            local name = file:gsub("_emscripten%.cpp$", "")
            removefiles { name .. "_posix.cpp", name .. "_pthread.cpp" }
        end
    filter {}
end

local boost = _OPTIONS.boost and path.getabsolute(_OPTIONS.boost, _WORKING_DIR)

-- The folder of Boost.Context's assembly, if --boost names Boost's sources. Its files for the target
-- become a part of weft, and programs do not link Boost.Context.
weft.assembly = boost and os.isdir(boost .. "/libs/context/src/asm") and boost .. "/libs/context/src/asm"

-- Links what weft itself needs.
function weft.useLibraries()
    local context = not weft.assembly
    if weft.assembly then -- of a release, or of a checkout
        sysincludedirs(os.isfile(boost .. "/boost/version.hpp") and { boost } or os.matchdirs(boost .. "/libs/*/include"))
    elseif boost then
        if boost ~= "/usr" then sysincludedirs { boost .. "/include" } end -- twice in the search path breaks <cstdlib>
        libdirs { boost .. "/lib" }
    end
    filter { "system:not windows", "system:not emscripten" }
        links(context and { "boost_context", "pthread" } or { "pthread" })
    filter { "system:emscripten", "kind:ConsoleApp" }
        linkoptions { "-sASYNCIFY=1" }
    filter { "system:windows", "action:vs*" }
        links(context and { "libboost_context", "synchronization" } or { "synchronization" })
    filter { "system:windows", "action:not vs*" }
        links(context and { "boost_context", "synchronization" } or { "synchronization" })
    filter {}
end

-- The options for control-flow protection of a configuration: the assembly needs them, too.
function weft.protection(cfg)
    local options = table.filter(cfg.buildoptions, function(option) return option:find("^%-%a+%-protection") end)
    return table.concat(options, " ")
end

-- Adds weft.assembly to a project that compiles weft's sources.
function weft.useAssembly()
    if not weft.assembly then return end
    local machine = _OPTIONS.cross or not os.ishost("windows") and os.outputof("uname -m") or ""
    local isArm = machine:find("aarch64") or machine:find("arm64")
    local processor = isArm and "_arm64_aapcs_" or "_x86_64_sysv_"
    for _, name in ipairs { "/make", "/jump", "/ontop" } do
        name = weft.assembly .. name
        filter { "system:not windows", "system:not macosx", "system:not emscripten" }
            files { name .. processor .. "elf_gas.S" }
        filter "system:macosx"
            files { name .. processor .. "macho_gas.S" }
        filter { "system:windows", "action:not vs*" }
            files { name .. "_x86_64_ms_pe_gas.*" } -- .asm or .S, depending on Boost's version
        filter { "system:windows", "action:vs*" }
            files { name .. "_x86_64_ms_pe_masm.asm" }
    end
    filter { "system:windows", "action:vs*" }
        defines { "BOOST_CONTEXT_NO_LIB" } -- otherwise the header asks for Boost's library
    local object = "%{cfg.objdir}/%{file.basename}"
    filter "files:**_gas.*"
        buildmessage "%{file.name}"
        buildoutputs { object .. ".o" }
        buildcommands { '$(CC) %{weft.protection(cfg)} -x assembler-with-cpp -c -o "' .. object .. '.o" "%{file.abspath}"' }
    filter "files:**_masm.asm"
        buildmessage "%{file.name}"
        buildoutputs { object .. ".obj" }
        buildcommands { 'ml64 /nologo /DBOOST_CONTEXT_EXPORT= /c /Fo"' .. object .. '.obj" "%{file.abspath}"' }
    filter {}
end

-- Sets the options that must be the same for weft and its users.
function weft.defineOptions()
    if _OPTIONS.shared then defines { "WEFT_SHARED=1" } end
    if _OPTIONS["no-exceptions"] then defines { "WEFT_NO_EXCEPTIONS=1" } end
    if _OPTIONS["race-finder"] then defines { "WEFT_RACE_FINDER=1" } end
    if _OPTIONS.pthread then defines { "WEFT_PTHREAD=1" } end
end

-- Makes the current project a user of weft.
function weft.use()
    includedirs { weft.root .. "/include" }
    links { "weft" }
    weft.defineOptions()
    weft.useLibraries()
end

-- True if there is a library weft_topology. It needs hwloc (libhwloc-dev) for the system for which
-- weft is built.
weft.hasTopology = os.istarget("linux") and not _OPTIONS.pthread and not _OPTIONS.cross and os.findheader("hwloc.h") ~= nil

-- Makes the current project a user of weft_topology. Call weft.use(), too.
function weft.useTopology()
    links { "weft_topology", "hwloc" }
end

-- True if there is a library weft_io. It uses io_uring if liburing (liburing-dev) is installed for
-- the system for which weft is built.
weft.hasIo = os.istarget("linux") and not _OPTIONS.pthread
weft.hasUring = weft.hasIo and not _OPTIONS.cross and os.findheader("liburing.h") ~= nil

-- Makes the current project a user of weft_io. Call weft.use() after it.
function weft.useIo()
    links { "weft_io" }
    if weft.hasUring then links { "uring" } end
end

-- Sets what the libraries have in common.
local function library(kindOfLibrary)
    kind(kindOfLibrary)
    pic "On"
    language "C++"
    cppdialect "C++17"
    exceptionhandling(_OPTIONS["no-exceptions"] and "Off" or "On")
    rtti(_OPTIONS["no-exceptions"] and "Off" or "On")
    includedirs { weft.root .. "/include", weft.source }
    if not os.ishost("windows") then
        filter { "action:gmake*", "kind:StaticLib" } -- otherwise objects of files that are gone stay in it
            prelinkcommands { "rm -f $(TARGET)" }
        filter {}
    end
end

project "weft"
    library(_OPTIONS.shared and "SharedLib" or "StaticLib")
    files { weft.root .. "/include/**.h", "**.h", "**.cpp" }
    removefiles { weft.root .. "/include/weft/topology/**", "topology/**", weft.root .. "/include/weft/io/**", "io/**" }
    weft.defineOptions()
    if _OPTIONS.shared then
        defines { "WEFT_BUILDING=1" }
        visibility "Hidden"
        inlinesvisibility "Hidden"
    end
    if _OPTIONS["race-finder"] then -- its own synchronisation is to order nothing: platform/race_finder.h
        filter "configurations:Tsan"
            removebuildoptions { "-fsanitize=thread" }
        filter {}
    end
    filter { "configurations:Release", "system:linux or system:macosx or system:bsd" }
        -- Without this, the position of hot functions within a cache line depends on what is linked
        -- before them. This changes the time of many empty tasks.
        buildoptions { "-falign-functions=64" }
        -- A program that is linked with -Wl,--gc-sections has no function that it does not use.
        buildoptions { "-ffunction-sections", "-fdata-sections" }
    -- What runs seldom is compiled for size: beginnings and ends, reports, stacks and threads.
    for _, cold in ipairs {
        "life/*", "state/*", "policy/ordered", "run/rescue", "api/life_calls", "api/trim_memory",
        "diagnose/debug_root", "diagnose/describe_fault", "diagnose/inspect", "diagnose/late_end", "diagnose/stall",
        "diagnose/wait_graph", "platform/cpu*", "platform/fork_mark*", "platform/*memory*", "platform/signal*",
        "platform/thread*"
    } do
        filter { "configurations:Release", "system:linux or system:macosx or system:bsd", "files:**/" .. cold .. ".cpp" }
            buildoptions { "-Os", "-falign-functions=1" }
    end
    filter {}
    weft.removeOtherPlatforms()
    weft.useLibraries()
    weft.useAssembly()

if weft.hasTopology then
project "weft_topology"
    library "StaticLib"
    files { weft.root .. "/include/weft/topology/**.h", "topology/**.h", "topology/**.cpp" }
    weft.defineOptions()
    weft.removeOtherPlatforms()
end

if weft.hasIo then
project "weft_io"
    library "StaticLib"
    files { weft.root .. "/include/weft/io/**.h", "io/**.h", "io/**.cpp" }
    if weft.hasUring then defines { "WEFT_IO_URING=1" } end
    weft.defineOptions()
    if _OPTIONS["race-finder"] then -- as above
        filter "configurations:Tsan"
            removebuildoptions { "-fsanitize=thread" }
        filter {}
    end
    weft.removeOtherPlatforms()
end
