-- `premake5 docs`: makes the reference of the public headers and the guide pages with Doxygen, in
-- build/docs/html.
--
-- Doxygen 1.9 reads copies below build/docs/input. Line numbers stay the same. Three things differ.
--
--     headers   the comment at the top is the description of the file, with its example as code
--     pages     headings have the anchors that GitHub gives them, so that links to them work
--     links     links between pages and to headers are references of Doxygen; other files of the
--               repository are not part of the documentation, so only the text of the link remains

local copies = "build/docs/input/"
local doxyfile = "third_party/doxygen/Doxyfile"

local headers = {}
local pages = {} -- their names for Doxygen, by file

local function findInput()
    headers = os.matchfiles("include/**.h")
    for _, page in ipairs(table.join(os.matchfiles("include/**README.md"), os.matchfiles("samples/**.md"))) do
        pages[page] = page:gsub("%.md$", ""):gsub("/README$", ""):gsub("%W", "_")
    end
    pages["README.md"] = "index"
end

-- Resolves a relative path: "a/b/../c" is "a/c".
local function resolve(folder, target)
    local parts = {}
    for part in path.join(folder, target):gmatch("[^/]+") do
        if part == ".." then table.remove(parts) elseif part ~= "." then table.insert(parts, part) end
    end
    return table.concat(parts, "/")
end

-- Returns the anchor that GitHub gives to a heading, after the name of the page. `counts` has the
-- number of earlier headings of the page with the same anchor.
local function anchorOf(page, heading, counts)
    local anchor = pages[page] .. "-" .. heading:lower():gsub("[^%w%-_ \128-\255]", ""):gsub(" ", "-")
    local count = counts[anchor] or 0
    counts[anchor] = count + 1
    return count == 0 and anchor or anchor .. "-" .. count
end

-- Returns the Doxygen reference for a link of the page, or nil if the target is not documented.
local function reference(page, target)
    local file, anchor = target:match("^([^#]*)#?(.*)$")
    file = file == "" and page or resolve(path.getdirectory(page), file)
    if pages[file .. "/README.md"] then file = file .. "/README.md" end
    if pages[file] then return anchor == "" and pages[file] or pages[file] .. "-" .. anchor end
    return table.contains(headers, file) and file:gsub("^include/", "") or nil
end

local function convertHeading(page, level, heading, counts)
    heading = heading:gsub("`", "") -- which Doxygen shows as they are
    local anchor = #level > 1 and anchorOf(page, heading, counts) or pages[page]
    return level .. " " .. heading .. (anchor ~= "index" and " {#" .. anchor .. "}" or "")
end

local function convertLinks(page, line)
    local spans = {} -- of code that looks like a link, such as the head of a lambda
    line = line:gsub("`[^`]*`", function(span)
        if not span:find("](", 1, true) then return nil end
        table.insert(spans, span)
        return "\1" .. #spans .. "\1"
    end)
    line = line:gsub("(!?)%[([^%[%]]*)%]%(([^()%s]+)%)", function(image, text, target)
        if target:match("^%a+:") then return nil end
        if image ~= "" then
            return "![" .. text .. "](" .. resolve(path.getdirectory(page), target) .. ")"
        end
        local name = reference(page, target)
        return name and "[" .. text:gsub("`", "") .. "](@ref " .. name .. ")" or text
    end)
    return (line:gsub("\1(%d+)\1", function(i) return spans[tonumber(i)] end))
end

local function convertPage(page, content)
    local lines, counts, isCode = {}, {}, false
    for line in content:gmatch("([^\n]*)\n") do
        if line:match("^%s*```") then isCode = not isCode end
        local level, heading = line:match("^(#+) (.*)$")
        table.insert(lines, isCode and line or heading and convertHeading(page, level, heading, counts)
            or convertLinks(page, line))
    end
    return table.concat(lines, "\n") .. "\n"
end

-- Turns indented code into a code block with highlighting. The empty lines around it make room for
-- the marks.
local function convertHeader(content)
    local lines, isCode = {}, false
    local function isExample(i) return (lines[i] or ""):startswith("//     ") end
    for line in content:gmatch("([^\n]*)\n") do table.insert(lines, line) end
    for i, line in ipairs(lines) do
        if line == "#pragma once" then
            lines[i] = isCode and "/// ```" or "/// @file"
            if isCode then lines[i + 1] = "/// @file" end -- which was empty
            break
        end
        local text = line:sub(3)
        if text == "" and isExample(i + 1) and not isCode then
            text, isCode = " ```cpp", true
        elseif isCode and text == "" and not isExample(i + 1) then
            text, isCode = " ```", false
        elseif isCode then
            text = text:gsub("^     ", " ")
        end
        lines[i] = "///" .. text
    end
    return table.concat(lines, "\n") .. "\n"
end

local function writeCopy(file, convert)
    os.mkdir(path.getdirectory(copies .. file))
    local ok, message = io.writefile(copies .. file, convert(io.readfile(file)))
    if not ok then error(message, 0) end
end

-- Runs Doxygen and prints each warning once. Doxygen repeats the warnings of a function on each
-- page that shows it.
local function runDoxygen()
    local configuration, log = "build/docs/Doxyfile", "build/docs/doxygen.log"
    io.writefile(configuration, io.readfile(doxyfile) .. "PROJECT_NUMBER = " .. weft.version .. "\n")
    local succeeded = os.execute("doxygen " .. configuration .. " > " .. log .. " 2>&1")
    local folder = (path.getabsolute(copies) .. "/"):gsub("%p", "%%%0")
    local isPrinted = {}
    for warning in io.readfile(log):gsub(folder, ""):gsub(copies, ""):gmatch("[^\n]+") do
        if not isPrinted[warning] then print(warning) end
        isPrinted[warning] = true
    end
    return succeeded
end

newaction {
    trigger = "docs",
    description = "Write the reference of the public headers to build/docs/html; needs Doxygen",
    execute = function()
        if not os.outputof("doxygen --version") then
            error("docs needs Doxygen; on Debian: third_party/setup.sh doxygen", 0)
        end
        os.chdir(_MAIN_SCRIPT_DIR)
        os.rmdir("build/docs")
        findInput()
        for _, header in ipairs(headers) do writeCopy(header, convertHeader) end
        for page in pairs(pages) do
            writeCopy(page, function(content) return convertPage(page, content) end)
        end
        if not runDoxygen() then error("docs: Doxygen has warnings", 0) end
        print("build/docs/html/index.html")
    end
}
