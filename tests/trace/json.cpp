#include "trace/json.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace test {

namespace {

class Parser {
public:
    explicit Parser(const std::string &text) : m_text(text) {}

    Json All() {
        Json value = Value();
        Space();
        if (m_at != m_text.size()) Fail("there is something after the value");
        return value;
    }

private:
    [[noreturn]] void Fail(const char *what) const {
        throw std::runtime_error(std::string(what) + " at " + std::to_string(m_at) + ": " +
                                 m_text.substr(m_at, 40));
    }
    char Peek() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }
    char Next() {
        if (m_at == m_text.size()) Fail("it ends too early");
        return m_text[m_at++];
    }
    void Space() {
        while (Peek() != '\0' && std::strchr(" \t\r\n", Peek()) != nullptr) ++m_at;
    }
    void Expect(const char *word) {
        for (; *word != 0; ++word) {
            if (Next() != *word) Fail("something else is expected");
        }
    }

    Json Value() {
        Space();
        Json value;
        switch (Peek()) {
            case '{':
                return Object();
            case '[':
                return Array();
            case '"':
                return Text();
            case 't':
                Expect("true");
                value.number = 1;
                value.kind = Json::Kind::Bool;
                return value;
            case 'f':
                Expect("false");
                value.kind = Json::Kind::Bool;
                return value;
            case 'n':
                Expect("null");
                return value;
            default:
                return Number();
        }
    }

    Json Number() {
        const size_t begin = m_at;
        const auto digits = [&] {
            if (Peek() < '0' || Peek() > '9') Fail("a digit is missing");
            while (Peek() >= '0' && Peek() <= '9') ++m_at;
        };
        if (Peek() == '-') ++m_at;
        if (Peek() == '0') {
            ++m_at;
        } else {
            digits();
        }
        if (Peek() == '.') ++m_at, digits();
        if (Peek() == 'e' || Peek() == 'E') {
            ++m_at;
            if (Peek() == '+' || Peek() == '-') ++m_at;
            digits();
        }
        Json value;
        value.kind = Json::Kind::Number;
        value.number = std::strtod(m_text.c_str() + begin, nullptr);
        return value;
    }

    Json Text() {
        Expect("\"");
        Json value;
        value.kind = Json::Kind::Text;
        for (char c = Next(); c != '"'; c = Next()) {
            if (static_cast<unsigned char>(c) < 0x20) Fail("a control character");
            if (c == '\\') {
                c = Next();
                if (std::strchr("\"\\/", c) == nullptr || c == 0) Fail("an unexpected escape");
            }
            value.text += c;
        }
        CheckUtf8(value.text);
        return value;
    }

    // No text of a test has more than two bytes in a character.
    void CheckUtf8(const std::string &text) const {
        for (size_t i = 0; i < text.size(); ++i) {
            const auto byte = static_cast<unsigned char>(text[i]);
            if (byte < 0x80) continue;
            const bool isGood = byte >= 0xc2 && byte < 0xe0 && i + 1 < text.size() &&
                                (static_cast<unsigned char>(text[i + 1]) & 0xc0) == 0x80;
            if (!isGood) Fail("invalid UTF-8");
            ++i;
        }
    }

    Json Array() {
        Expect("[");
        Json value;
        value.kind = Json::Kind::Array;
        Space();
        if (Peek() == ']') return ++m_at, value;
        for (;;) {
            value.items.push_back(Value());
            Space();
            if (Peek() == ']') return ++m_at, value;
            Expect(",");
        }
    }

    Json Object() {
        Expect("{");
        Json value;
        value.kind = Json::Kind::Object;
        Space();
        if (Peek() == '}') return ++m_at, value;
        for (;;) {
            Space();
            const std::string name = Text().text;
            Space();
            Expect(":");
            if (!value.members.emplace(name, Value()).second) Fail("a member comes twice");
            Space();
            if (Peek() == '}') return ++m_at, value;
            Expect(",");
        }
    }

    const std::string &m_text;
    size_t m_at = 0;
};

}  // namespace

const Json &Json::operator[](const std::string &name) const {
    static const Json null;
    const auto found = members.find(name);
    return found != members.end() ? found->second : null;
}

Json ParseJson(const std::string &text) {
    try {
        return Parser(text).All();
    } catch (const std::runtime_error &error) {
        FAIL(error.what());
    }
    return {};
}

}  // namespace test
