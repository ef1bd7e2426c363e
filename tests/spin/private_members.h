// Access to private members for programs that observe them: C++ does not check access in an
// explicit instantiation of a template.
//
//     namespace spin {
//     struct Value { friend constexpr auto Member(Value); };
//     template struct Reveal<Value, &Thing::m_value>;
//     }
//     ... thing.*Member(spin::Value()) ...
#pragma once

namespace spin {

template <class Tag, auto kMember>
struct Reveal {
    friend constexpr auto Member(Tag) { return kMember; }
};

}  // namespace spin
