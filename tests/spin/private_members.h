// For programs that observe what is private: access is not checked where a template is instantiated
// explicitly.
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
