-- Option --unity, or WEFT_UNITY=1: joins the sources of each program to a small number of large
-- files. Headers are then compiled less often, but a small change compiles a large file again.
-- The scripts in tests/ and samples/run.sh use it, unless WEFT_UNITY is empty. It has an effect on
-- makefiles only. tests/mutants.sh compiles each file of the library alone for the simulator. There,
-- some headers of the standard library are included before.
--
-- A file of the library is included as it is: `premake5 check-unity` shows that this works. So is a
-- file of samples/, bench/trace/ and bench/frame/, unless it has main(). A test file is included in
-- a namespace of its own, since test files use the same names. Its headers are included before,
-- outside the namespace. Two files are joined only if they have the same compiler options. A test file is compiled alone if it defines a macro, something in a named namespace, an
-- extern function or an operator new, or if it includes tracy.h, whose contents depend on a macro.

newoption { trigger = "unity", description = "Compile the library and the tests in few files" }

local most = { library = 350000, program = 60000, test = 150000 } -- a joined file with more bytes gets no more sources

-- The directives before the code of a file. An #if that is still open there is closed.
local function preamble(text)
    local lines, depth = {}, 0
    for line in text:gmatch("[^\n]*") do
        if line:match("^#") then
            if line:match("^#%s*if") then depth = depth + 1 end
            if line:match("^#%s*endif") then depth = depth - 1 end
            table.insert(lines, line)
        elseif line ~= "" and not line:match("^//") then
            break
        end
    end
    for _ = 1, depth do table.insert(lines, "#endif") end
    return table.concat(lines, "\n") .. "\n"
end

-- Returns what kind of file it is, or nil if it is compiled alone.
local function kindOf(file, text)
    if file:startswith(weft.source .. "/") then return "library" end
    local name = path.getrelative(weft.root, file)
    local folder = name:match("^bench/trace/") or name:match("^bench/frame/") or name:match("^samples/")
    if folder and not text:find("\nint main(", 1, true) then return "program" end
    if _OPTIONS.emscripten or not file:endswith("_test.cpp") then return nil end -- clang takes minutes for joined tests
    for line in ("\n" .. text):gmatch("\n([^\n]*)") do
        if line:match("^namespace [%w_:]") or line:match("^extern ") or line:match("^#define")
            or line:match("operator new") or line:find("weft/trace/tracy.h", 1, true) then return nil end
    end
    return "test"
end

-- Returns the compiler options that the file has in addition to those of its program.
local function optionsOf(project, cfg, file)
    local node = premake.fileconfig.new(file, project)
    premake.fileconfig.addconfig(node, cfg)
    local own = premake.fileconfig.getconfig(node, cfg)
    if not own then return "" end
    return table.concat(own.buildoptions or {}, " ") .. (own.flags and own.flags.NoPCH and " alone" or "")
end

local standsFor = {} -- joined file -> one of its sources, whose options it takes

local function join(project, cfg)
    local files, groups, texts = {}, {}, {}
    for _, file in ipairs(cfg.files) do
        local kind, text
        if path.iscppfile(file) then
            text = io.readfile(file)
            kind = kindOf(file, text)
        end
        if kind then
            local key = kind .. optionsOf(project, cfg, file)
            groups[key] = groups[key] or { kind = kind, files = {} }
            table.insert(groups[key].files, file)
            texts[file] = text
        else
            table.insert(files, file)
        end
    end
    local folder = path.join(project.location, "../unity/" .. cfg.buildcfg)
    local keys = table.keys(groups)
    table.sort(keys)
    local number = 0
    for _, key in ipairs(keys) do
        local group, size, before, after, first = groups[key], 0, "", "", nil
        local function write()
            if not first then return end
            number = number + 1
            local joined = ("%s/%s_%d.cpp"):format(folder, project.name, number)
            os.mkdir(folder)
            os.writefile_ifnotequal(before .. after, joined)
            standsFor[joined] = first
            table.insert(files, joined)
            size, before, after, first = 0, "", "", nil
        end
        for _, file in ipairs(group.files) do
            if size > most[group.kind] then write() end
            first = first or file
            size = size + #texts[file]
            local include = ('#include "%s"\n'):format(path.getrelative(folder, file))
            if group.kind == "test" then
                before = before .. preamble(texts[file])
                include = ("namespace %s {\n%s}\n"):format(path.getrelative(weft.root, file):gsub("%W", "_"), include)
            end
            after = after .. include
        end
        write()
    end
    return files
end

if (_OPTIONS.unity or (os.getenv("WEFT_UNITY") or "") ~= "") and _ACTION and _ACTION:startswith("gmake") then
    premake.override(premake.fileconfig, "new", function(base, file, project)
        local node = base(standsFor[file] or file, project)
        node.abspath = file
        return node
    end)
    premake.override(premake.oven, "bakeFiles", function(base, project)
        for cfg in premake.project.eachconfig(project) do
            cfg.files = join(project, cfg)
        end
        return base(project)
    end)
end

-- Compiles the sources in both orders, because an error in one order may not show in the other one.
newaction {
    trigger = "check-unity",
    description = "Check that the libraries' sources compile as one file, in either order (g++)",
    execute = function()
        local sources = {}
        for workspace in premake.global.eachWorkspace() do
            for _, name in ipairs { "weft", "weft_topology", "weft_io" } do
                local project = premake.workspace.findproject(workspace, name)
                local files = project and premake.project.getconfig(project, "Debug").files or {}
                for _, file in ipairs(files) do
                    if path.iscppfile(file) then table.insert(sources, file) end
                end
            end
        end
        os.mkdir("build")
        local flags = "-std=c++17 -Wall -Wextra -Werror -Iinclude -Isource"
        local failures = #sources == 0 and 1 or 0
        local function compile(unity)
            local includes = ""
            for _, file in ipairs(sources) do
                includes = includes .. '#include "../' .. path.getrelative(_MAIN_SCRIPT_DIR, file) .. '"\n'
            end
            io.writefile(unity .. ".cpp", includes)
            print(#sources .. " files in " .. unity .. ".cpp")
            if not os.execute("g++ " .. flags .. " -c " .. unity .. ".cpp -o " .. unity .. ".o") then
                failures = failures + 1
            end
        end
        table.sort(sources)
        compile("build/unity")
        table.sort(sources, function(a, b) return a > b end)
        compile("build/unity_backwards")
        if failures > 0 then os.exit(1) end
    end
}
