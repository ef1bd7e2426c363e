-- `premake5 amalgamate`: writes build/amalgamated/weft_all.h and weft_all.cpp, all of the library in
-- two files, to be added to any build but one for WebAssembly. weft_all.cpp needs Boost.Context:
-- third_party/packaging/README.md.
--
-- Each file of weft stands where it is included for the first time. Not in weft_all.h: the headers
-- of weft/topology/ and weft/io/, which are libraries of their own, and weft/coroutine.h, which
-- needs C++20; weft_coroutine.h has that one.

local folder = "build/amalgamated/"

-- What a source file of one kind of system is enclosed in.
local systems = {
    _windows = "defined(_WIN32)",
    _posix = "!defined(_WIN32)",
    _linux = "defined(WEFT_LINUX)",
    _pthread = "!defined(WEFT_LINUX) && !defined(_WIN32)",
}

local function find(name)
    for _, root in ipairs { "include/", "source/" } do
        if os.isfile(root .. name) then return root .. name end
    end
end

-- Returns the text of a file, with the files of weft that it includes. `done`: the files that stand
-- above.
local function expand(file, done)
    done[file] = true
    local lines = { "// ---- " .. file:gsub("^include/", "") .. " ----" }
    for line in io.lines(file) do
        local included = line:match('^%s*#%s*include%s+"([^"]+)"')
        local path = included and find(included)
        if path then
            if not done[path] then table.insert(lines, expand(path, done)) end
        elseif not line:match("^#pragma once") and not line:match("simulator/env_simulator.h") and
            not line:match("relacy/env_relacy.h") then
            table.insert(lines, line)
        end
    end
    return table.concat(lines, "\n") .. "\n"
end

-- Returns the files of weft that a file includes in all cases.
local function includedBy(file)
    local paths, depth = {}, 0
    for line in io.lines(file) do
        if line:match("^%s*#%s*if") then depth = depth + 1 end
        if line:match("^%s*#%s*endif") then depth = depth - 1 end
        local included = depth == 0 and line:match('^%s*#%s*include%s+"([^"]+)"')
        if included and find(included) then table.insert(paths, find(included)) end
    end
    return paths
end

local function isInside(file, folders)
    for _, name in ipairs(folders) do
        if file:startswith(name) then return true end
    end
    return false
end

newaction {
    trigger = "amalgamate",
    description = "Write the library as two files, build/amalgamated/weft_all.h and weft_all.cpp",
    execute = function()
        local title = "// weft " .. weft.version .. " in one file, written by `premake5 amalgamate`.\n"
        local done, header, sources, coroutine = {}, {}, {}, "include/weft/coroutine.h"
        local headers = os.matchfiles("include/weft/**.h")
        table.sort(headers)
        for _, file in ipairs(headers) do
            if not done[file] and file ~= coroutine and not isInside(file, { "include/weft/topology/", "include/weft/io/" }) then
                table.insert(header, expand(file, done))
            end
        end
        os.mkdir(folder)
        io.writefile(folder .. "weft_all.h", title .. "#pragma once\n\n" .. table.concat(header, "\n"))
        io.writefile(folder .. "weft_coroutine.h",
            title .. '#pragma once\n\n#include "weft_all.h"\n\n' .. expand(coroutine, done))

        local files = os.matchfiles("source/**.cpp")
        local function isPlatform(file) return isInside(file, { "source/platform/" }) end
        table.sort(files, function(a, b) -- the lowest layer first: it must not see names of the others
            if isPlatform(a) ~= isPlatform(b) then return isPlatform(a) end
            return a < b
        end)
        files = table.filter(files, function(file)
            return not isInside(file, { "source/topology/", "source/io/" }) and not file:endswith("_emscripten.cpp")
        end)
        local function systemOf(file) return systems[file:match("(_%a+)%.cpp$")] end
        local forAll = {} -- the headers that files for all systems include
        for _, file in ipairs(table.join(files, os.matchfiles("source/**.h"))) do
            if not systemOf(file) then
                for _, header in ipairs(includedBy(file)) do forAll[header] = true end
            end
        end
        table.insert(sources, expand("source/platform/compiler.h", done)) -- it defines WEFT_LINUX
        for _, file in ipairs(files) do
            local system = systemOf(file)
            if system then
                for _, header in ipairs(includedBy(file)) do -- it must not stand in a part for one system
                    if forAll[header] and not done[header] then table.insert(sources, expand(header, done)) end
                end
                table.insert(sources, ("#if %s\n%s#endif\n"):format(system, expand(file, done)))
            else
                table.insert(sources, expand(file, done))
            end
        end
        io.writefile(folder .. "weft_all.cpp", title .. '#include "weft_all.h"\n\n' .. table.concat(sources, "\n"))
        print(folder .. "weft_all.h, weft_all.cpp, weft_coroutine.h")
    end
}
