// Tagged fields: tag, length, bytes, all numbers LEB128. A struct names its fields once (`fields(m, f)`),
// both directions follow. What has its default value is not written; what is not known is skipped or carried
// in the struct's `unknown`. Knows nothing of records or files.
#pragma once
#include "libsmtp/text/time_types.h"
#include "libspool/format/envelope.h"
#include "libspool/format/layout.h"
#include "libspool/format/leb128.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spool::fields {

template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};
template <class T> struct is_vector : std::false_type {};
template <class T> struct is_vector<std::vector<T>> : std::true_type {};

class Writer {
public:
    explicit Writer(std::string& out) : out_(out) {}
    template <class T> void operator()(unsigned tag, const T& value) {
        if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
            if (value.empty()) return;
            std::string packed;
            for (auto n : value) leb128::put(packed, n);
            field(tag, packed);
        } else if constexpr (is_vector<T>::value) {
            for (const auto& each : value) field(tag, bytes_of(each));
        } else if constexpr (is_optional<T>::value) {
            if (value) field(tag, bytes_of(*value));
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (!value.empty()) field(tag, value);
        } else if constexpr (std::is_enum_v<T>) {
            field(tag, bytes_of(value)); // always: the default of an enumeration need not be its zero
        } else if constexpr (std::is_integral_v<T>) {
            if (value != T{}) field(tag, bytes_of(value)); // every number's default is zero
        } else if constexpr (std::is_same_v<T, smtp::WallTime>) {
            if (value != T{}) field(tag, bytes_of(value));
        } else {
            const auto inner = bytes_of(value);
            if (!inner.empty()) field(tag, inner);
        }
    }

    template <class T> static std::string bytes_of(const T& value) {
        std::string out;
        if constexpr (std::is_same_v<T, std::string>) {
            out = value;
        } else if constexpr (std::is_same_v<T, QueueId>) {
            leb128::put(out, value.value);
        } else if constexpr (std::is_same_v<T, smtp::WallTime>) {
            out = bytes_of(static_cast<std::int64_t>(value.time_since_epoch().count()));
        } else if constexpr (std::is_enum_v<T>) {
            leb128::put(out, static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            leb128::put(out, leb128::zigzag(value));
        } else if constexpr (std::is_integral_v<T>) {
            leb128::put(out, static_cast<std::uint64_t>(value));
        } else {
            Writer writer(out);
            T::fields(value, writer);
            if constexpr (requires { value.unknown; }) out += value.unknown;
        }
        return out;
    }

private:
    void field(unsigned tag, std::string_view bytes) {
        leb128::put(out_, tag);
        leb128::put(out_, bytes.size());
        out_ += bytes;
    }
    std::string& out_;
};

// Sets the one field of a struct that has the tag at hand.
class Reader {
public:
    Reader(unsigned tag, std::string_view bytes) : tag_(tag), bytes_(bytes) {}
    template <class T> void operator()(unsigned tag, T& value) {
        if (tag != tag_) return;
        known_ = true;
        if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
            while (!bytes_.empty() && why_.empty()) {
                std::uint64_t n;
                if (leb128::take(bytes_, n) != leb128::Taken::whole || n > UINT32_MAX)
                    why_ = "odd number";
                else
                    value.push_back(static_cast<std::uint32_t>(n));
            }
        } else if constexpr (is_vector<T>::value) {
            take(value.emplace_back());
        } else if constexpr (is_optional<T>::value) {
            take(value.emplace());
        } else {
            take(value);
        }
        if (!why_.empty()) why_ = std::to_string(tag) + ": " + why_;
    }
    bool known() const { return known_; }
    const std::string& why() const { return why_; }

private:
    template <class T> void take(T& value);
    bool number(std::uint64_t& n) {
        if (leb128::take(bytes_, n) == leb128::Taken::whole && bytes_.empty()) return true;
        why_ = "odd number";
        return false;
    }
    unsigned tag_;
    std::string_view bytes_;
    bool known_ = false;
    std::string why_;
};

// All fields of `bytes` into `value`; empty: fine, else what is odd ("2: 4: odd number": field 4 of field 2).
template <class T> std::string read_into(T& value, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto whole = bytes;
        std::uint64_t tag, length;
        if (leb128::take(bytes, tag) != leb128::Taken::whole || tag == 0 || tag > UINT32_MAX) return "odd field";
        if (leb128::take(bytes, length) != leb128::Taken::whole || length > bytes.size()) return "field cut short";
        Reader reader(static_cast<unsigned>(tag), bytes.substr(0, length));
        bytes.remove_prefix(length);
        T::fields(value, reader);
        if (!reader.why().empty()) return reader.why();
        if constexpr (requires { value.unknown; })
            if (!reader.known()) value.unknown += whole.substr(0, whole.size() - bytes.size());
    }
    return {};
}

template <class T> void Reader::take(T& value) {
    std::uint64_t n;
    if constexpr (std::is_same_v<T, std::string>) {
        value.assign(bytes_);
    } else if constexpr (std::is_same_v<T, QueueId>) {
        if (!number(n)) return;
        value.value = n;
        if (!value.valid()) why_ = "not a queue id";
    } else if constexpr (std::is_same_v<T, smtp::WallTime>) {
        std::int64_t count = 0;
        take(count);
        value = smtp::WallTime(smtp::Duration(count));
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!number(n)) return;
        value = n == 1;
        if (n > 1) why_ = "not a yes or no";
    } else if constexpr (std::is_same_v<T, Notify>) {
        if (!number(n)) return;
        value = static_cast<T>(n);
        if (n > 15) why_ = "unknown value";
    } else if constexpr (std::is_enum_v<T>) {
        if (!number(n)) return;
        value = static_cast<T>(n);
        if (n > static_cast<std::uint64_t>(T::last_)) why_ = "unknown value";
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        if (!number(n)) return;
        const auto s = leb128::from_zigzag(n);
        value = static_cast<T>(s);
        if (static_cast<std::int64_t>(value) != s) why_ = "out of range";
    } else if constexpr (std::is_integral_v<T>) {
        if (!number(n)) return;
        value = static_cast<T>(n);
        if (static_cast<std::uint64_t>(value) != n) why_ = "out of range";
    } else {
        why_ = read_into(value, bytes_);
    }
}

template <class T> std::expected<T, Malformed> read(std::string_view bytes, std::string_view name) {
    T value{};
    if (auto why = read_into(value, bytes); !why.empty())
        return std::unexpected(Malformed{std::string(name) + ": field " + why});
    return value;
}

} // namespace spool::fields
