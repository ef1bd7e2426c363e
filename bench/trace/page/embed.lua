-- The page of a recording as a C++ source: build/generated/page_template.cpp defines
-- weft::trace::kPageTemplate and kPageTemplateBytes, which bench/trace/export_html.cpp needs.
-- `premake5 embed-page` makes the file. A project calls usePageTemplate(): then its build makes the
-- file, and makes it again when a part of the page has changed.

local folder = path.getabsolute(".")
local target = path.join(_MAIN_SCRIPT_DIR, "build/generated/page_template.cpp")

local function read(name)
    local text, message = io.readfile(path.join(folder, name))
    if not text then error(message, 0) end
    return (text:gsub("\r\n", "\n"))
end

-- Returns the page with the files that it includes, and the names of these files.
local function template()
    local names = { "page.html" }
    local text = read("page.html"):gsub("/%*@include (%S-)%*/", function(name)
        table.insert(names, name)
        return read(name)
    end)
    return text, names
end

-- Bytes, because compilers limit the length of a string literal. Those above 127 are literals, too:
-- `char` has a sign on some processors only.
local function source(text)
    local lines = {
        "// Made by bench/trace/page/embed.lua from the files beside it.",
        "#include <cstddef>",
        "",
        "namespace weft::trace {",
        "extern const char kPageTemplate[];",
        "extern const size_t kPageTemplateBytes;",
        "const char kPageTemplate[] = {",
    }
    for at = 1, #text, 24 do
        local bytes = { text:byte(at, at + 23) }
        for i, byte in ipairs(bytes) do
            bytes[i] = byte < 128 and byte or ("'\\x%x'"):format(byte)
        end
        table.insert(lines, table.concat(bytes, ",") .. ",")
    end
    table.insert(lines, "};")
    table.insert(lines, "const size_t kPageTemplateBytes = sizeof kPageTemplate;")
    table.insert(lines, "}  // namespace weft::trace")
    return table.concat(lines, "\n") .. "\n"
end

-- Several projects may make the file at the same time, so it appears as a whole.
local function write()
    local text, new = template(), target .. os.uuid()
    os.mkdir(path.getdirectory(target))
    local ok, message = io.writefile(new, source(text))
    if ok and os.ishost("windows") then os.remove(target) end
    if ok then ok, message = os.rename(new, target) end
    if not ok then error(message, 0) end
end

-- Adds the page to the current project.
function usePageTemplate()
    local _, names = template()
    local inputs = { path.join(folder, "embed.lua") }
    for i = 2, #names do table.insert(inputs, path.join(folder, names[i])) end
    files { path.join(folder, names[1]) }
    filter "files:**page.html"
        buildmessage "page_template.cpp"
        buildinputs(inputs)
        buildoutputs { target }
        buildcommands { '"' .. _PREMAKE_COMMAND .. '" --file="' .. _MAIN_SCRIPT .. '" embed-page' }
    filter {}
end

newaction {
    trigger = "embed-page",
    description = "Make the C++ source that holds the page for recordings (bench/trace/page)",
    execute = write
}
