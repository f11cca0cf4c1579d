// Builds name server answers for tests, byte by byte, without compression but where asked.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace packet {

inline std::string u16(unsigned n) { return {static_cast<char>(n >> 8), static_cast<char>(n)}; }
inline std::string u32(unsigned long n) { return u16(n >> 16 & 0xffff) + u16(n & 0xffff); }

inline std::string name(std::string_view dotted) {
    std::string out;
    while (!dotted.empty()) {
        const auto label = dotted.substr(0, dotted.find('.'));
        out += static_cast<char>(label.size());
        out += label;
        dotted.remove_prefix(std::min(dotted.size(), label.size() + 1));
    }
    return out + '\0';
}

inline std::string record(std::string_view owner, unsigned type, unsigned long ttl, std::string data) {
    return name(owner) + u16(type) + u16(1) + u32(ttl) + u16(static_cast<unsigned>(data.size())) + data;
}
inline std::string mx(std::string_view owner, unsigned long ttl, unsigned preference, std::string_view host) {
    return record(owner, 15, ttl, u16(preference) + name(host));
}
inline std::string srv(std::string_view owner, unsigned long ttl, unsigned priority, unsigned weight, unsigned port,
                       std::string_view target) {
    return record(owner, 33, ttl, u16(priority) + u16(weight) + u16(port) + name(target));
}
inline std::string a(std::string_view owner, unsigned long ttl, std::string_view four) {
    return record(owner, 1, ttl, std::string(four));
}
inline std::string cname(std::string_view owner, unsigned long ttl, std::string_view target) {
    return record(owner, 5, ttl, name(target));
}
inline std::string ptr(std::string_view owner, unsigned long ttl, std::string_view target) {
    return record(owner, 12, ttl, name(target));
}
inline std::string tlsa(std::string_view owner, unsigned long ttl, int usage, int selector, int matching,
                        std::string_view data) {
    return record(owner, 52, ttl,
                  std::string{static_cast<char>(usage), static_cast<char>(selector), static_cast<char>(matching)} +
                      std::string(data));
}
inline std::string soa(std::string_view zone, unsigned long ttl, unsigned long minimum) {
    return record(zone, 6, ttl,
                  name("ns." + std::string(zone)) + name("root." + std::string(zone)) + u32(1) + u32(2) + u32(3) +
                      u32(4) + u32(minimum));
}

struct Message {
    unsigned id = 0, code = 0;
    std::string question; // the name asked for
    unsigned type = 15;
    bool validated = false; // the AD bit
    unsigned answers = 0, authorities = 0;
    std::string records; // of both sections, in order

    Message& answer(std::string bytes) {
        ++answers;
        records += bytes;
        return *this;
    }
    Message& authority(std::string bytes) {
        ++authorities;
        records += bytes;
        return *this;
    }
    std::string bytes() const {
        return u16(id) + u16(0x8180 | (validated ? 0x20 : 0) | code) + u16(1) + u16(answers) + u16(authorities) +
               u16(0) + name(question) + u16(type) + u16(1) + records;
    }
};

} // namespace packet
