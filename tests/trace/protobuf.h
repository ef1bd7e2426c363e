// A reader for protobuf's wire format, to check what the exporter for Perfetto writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace test {

/// A message: its fields in their order.
class Protobuf {
public:
    enum class Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
    struct Field {
        uint32_t number;
        Wire wire;
        uint64_t value;     // unless Bytes
        std::string bytes;  // of Bytes
    };

    /// Fails the test if the bytes are no message.
    explicit Protobuf(const std::string &bytes);

    bool Has(uint32_t number) const;
    size_t Count(uint32_t number) const;
    /// These fail the test if the last field with this number is missing, or is of another sort.
    uint64_t Varint(uint32_t number) const;
    std::string Text(uint32_t number) const;
    Protobuf Part(uint32_t number) const { return Protobuf(Text(number)); }
    /// All values of a repeated field.
    std::vector<uint64_t> AllFixed64(uint32_t number) const;
    std::vector<Protobuf> AllParts(uint32_t number) const;

    std::vector<Field> fields;

private:
    const Field &Last(uint32_t number, Wire wire) const;
};

}  // namespace test
