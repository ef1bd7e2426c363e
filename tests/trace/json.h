// A strict reader for JSON, to check what the exporters write.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace test {

struct Json {
    enum class Kind { Null, Bool, Number, Text, Array, Object };
    Kind kind = Kind::Null;
    double number = 0;  // of a Bool 0 or 1
    std::string text;
    std::vector<Json> items;
    std::map<std::string, Json> members;

    bool Has(const std::string &name) const { return members.count(name) != 0; }
    /// Returns a member, or null if it is not there.
    const Json &operator[](const std::string &name) const;
};

/// Fails the test if the text is not valid JSON (RFC 8259) or not valid UTF-8.
Json ParseJson(const std::string &text);

}  // namespace test
