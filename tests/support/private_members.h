// Access to private members for tests that look at layouts or set rare states: C++ does not check
// access in an explicit instantiation of a template.
//
//     namespace test {
//     struct Value { friend constexpr auto Member(Value); };
//     template struct Reveal<Value, &Thing::m_value>;
//     }
//     ... thing.*Member(test::Value()) ...
#pragma once

namespace test {

template <class Tag, auto kMember>
struct Reveal {
    friend constexpr auto Member(Tag) { return kMember; }
};

}  // namespace test
