-- The library's project. A user's own Premake script needs nothing else:
--
--     workspace "game" ...
--     include "third_party/weft/source/weft.lua"
--     project "game" ...
--         weft.use()
--         if weft.hasTopology then weft.useTopology() end     -- include/weft/topology/topology.h, where hwloc is installed
--
-- Written for Premake 5.0.0-alpha15, and with newer ones in mind, but those are untested.

newoption { trigger = "shared", description = "Build weft as a shared library" }
newoption { trigger = "no-exceptions", description = "Build weft without C++ exceptions and RTTI" }
newoption { trigger = "race-finder", description = "Build weft so that configuration Tsan finds races between tasks" }
newoption { trigger = "boost", value = "DIR", description = "Boost's install prefix, if not the system's" }

weft = { source = os.getcwd() }
weft.root = path.getdirectory(weft.source)
weft.version = table.concat({ io.readfile(weft.root .. "/include/weft/version.h")
    :match("MAJOR (%d+).-MINOR (%d+).-PATCH (%d+)") }, ".")

-- Each of these files belongs to some operating systems only; takes them out of the current project for the others.
function weft.removeOtherPlatforms()
    filter "system:linux"
        removefiles { weft.root .. "/**_windows.cpp", weft.root .. "/**_pthread.cpp" }
    filter "system:windows"
        removefiles { weft.root .. "/**_linux.cpp", weft.root .. "/**_posix.cpp", weft.root .. "/**_pthread.cpp" }
    filter { "system:not linux", "system:not windows" }
        removefiles { weft.root .. "/**_linux.cpp", weft.root .. "/**_windows.cpp" }
    filter {}
end

-- What weft itself is linked with.
function weft.useLibraries()
    if _OPTIONS.boost then
        local boost = path.getabsolute(_OPTIONS.boost, _WORKING_DIR)
        if boost ~= "/usr" then sysincludedirs { boost .. "/include" } end -- twice in the search path breaks <cstdlib>
        libdirs { boost .. "/lib" }
    end
    filter "system:not windows"
        links { "boost_context", "pthread" }
    filter { "system:windows", "action:vs*" }
        links { "libboost_context", "synchronization" }
    filter { "system:windows", "action:not vs*" }
        links { "boost_context", "synchronization" }
    filter {}
end

-- What weft and its users must be compiled with alike.
function weft.defineOptions()
    if _OPTIONS.shared then defines { "WEFT_SHARED=1" } end
    if _OPTIONS["no-exceptions"] then defines { "WEFT_NO_EXCEPTIONS=1" } end
    if _OPTIONS["race-finder"] then defines { "WEFT_RACE_FINDER=1" } end
end

-- Makes the current project a user of weft.
function weft.use()
    includedirs { weft.root .. "/include" }
    links { "weft" }
    weft.defineOptions()
    weft.useLibraries()
end

-- Whether there is a library weft_topology: it needs hwloc (libhwloc-dev), of the system that weft is built for.
weft.hasTopology = os.istarget("linux") and not _OPTIONS.cross and os.findheader("hwloc.h") ~= nil

-- Makes the current project a user of weft_topology, beside weft.use().
function weft.useTopology()
    links { "weft_topology", "hwloc" }
end

-- What the libraries have in common.
local function library(kindOfLibrary)
    kind(kindOfLibrary)
    pic "On"
    language "C++"
    cppdialect "C++17"
    exceptionhandling(_OPTIONS["no-exceptions"] and "Off" or "On")
    rtti(_OPTIONS["no-exceptions"] and "Off" or "On")
    includedirs { weft.root .. "/include", weft.source }
end

project "weft"
    library(_OPTIONS.shared and "SharedLib" or "StaticLib")
    files { weft.root .. "/include/**.h", "**.h", "**.cpp" }
    removefiles { weft.root .. "/include/weft/topology/**", "topology/**" }
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
        -- Otherwise the position of hot functions within a cache line depends on what is linked before them. That shows in
        -- the time of many empty tasks.
        buildoptions { "-falign-functions=64" }
    filter {}
    weft.removeOtherPlatforms()
    weft.useLibraries()

if weft.hasTopology then
project "weft_topology"
    library "StaticLib"
    files { weft.root .. "/include/weft/topology/**.h", "topology/**.h", "topology/**.cpp" }
    weft.defineOptions()
    weft.removeOtherPlatforms()
end
