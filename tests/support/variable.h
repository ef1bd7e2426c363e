// A variable of the environment that a test sets.
#pragma once

#include <cstdlib>

namespace test {

/// Sets the variable while it lives. No other thread may read the environment then.
class Variable {
public:
    Variable(const char *name, const char *value) : m_name(name) { Set(value); }
    ~Variable() { Set(""); }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

private:
    // An empty value removes it.
    void Set(const char *value) {
#if defined(_WIN32)
        _putenv_s(m_name, value);
#else
        if (*value != 0) {
            setenv(m_name, value, 1);
        } else {
            unsetenv(m_name);
        }
#endif
    }
    const char *m_name;
};

}  // namespace test
