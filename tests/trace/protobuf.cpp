#include "trace/protobuf.h"

#include <catch2/catch.hpp>

namespace test {

Protobuf::Protobuf(const std::string &bytes) {
    size_t at = 0;
    const auto varint = [&] {
        uint64_t value = 0;
        for (uint32_t shift = 0;; shift += 7) {
            if (at == bytes.size() || shift > 63) FAIL("a number has no end");
            const auto byte = static_cast<unsigned char>(bytes[at++]);
            value |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
    };
    while (at < bytes.size()) {
        const uint64_t key = varint();
        Field field{static_cast<uint32_t>(key >> 3), static_cast<Wire>(key & 7), 0, ""};
        if (field.number == 0) FAIL("a field has the number 0");
        switch (field.wire) {
            case Wire::Varint:
                field.value = varint();
                break;
            case Wire::Fixed64:
                if (bytes.size() - at < 8) FAIL("a number was cut off");
                for (int i = 7; i >= 0; --i)
                    field.value = field.value << 8 | static_cast<unsigned char>(bytes[at + i]);
                at += 8;
                break;
            case Wire::Bytes: {
                const uint64_t size = varint();
                if (bytes.size() - at < size) FAIL("a field is longer than its message");
                field.bytes = bytes.substr(at, size);
                at += size;
                break;
            }
            default:
                FAIL("a field of an unknown sort");
        }
        fields.push_back(field);
    }
}

bool Protobuf::Has(uint32_t number) const { return Count(number) != 0; }

size_t Protobuf::Count(uint32_t number) const {
    size_t count = 0;
    for (const Field &field : fields) count += field.number == number;
    return count;
}

const Protobuf::Field &Protobuf::Last(uint32_t number, Wire wire) const {
    for (size_t i = fields.size(); i-- != 0;) {
        if (fields[i].number != number) continue;
        if (fields[i].wire != wire) FAIL("field " << number << " is of another sort");
        return fields[i];
    }
    FAIL("field " << number << " is missing");
    return fields[0];
}

uint64_t Protobuf::Varint(uint32_t number) const { return Last(number, Wire::Varint).value; }
std::string Protobuf::Text(uint32_t number) const { return Last(number, Wire::Bytes).bytes; }

std::vector<uint64_t> Protobuf::AllFixed64(uint32_t number) const {
    std::vector<uint64_t> values;
    for (const Field &field : fields) {
        if (field.number != number) continue;
        if (field.wire != Wire::Fixed64) FAIL("field " << number << " is of another sort");
        values.push_back(field.value);
    }
    return values;
}

std::vector<Protobuf> Protobuf::AllParts(uint32_t number) const {
    std::vector<Protobuf> parts;
    for (const Field &field : fields) {
        if (field.number == number) parts.emplace_back(field.bytes);
    }
    return parts;
}

}  // namespace test
