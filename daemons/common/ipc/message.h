// Typed messages between daemons: a struct names its fields once, and both directions are derived
// from that. Knows how fields become bytes; must not know sockets, framing or any particular message.
//
// On the wire: one byte for the message's index in its conversation's variant, then the fields in
// order: numbers as LEB128 (signed ones zigzag), strings and lists preceded by their count. Strict: a
// missing, extra or invalid field is rejected, but never fatal, because the peer may be broken or
// hostile. A list's count is never trusted beyond the bytes that are present.
#pragma once
#include "libspool/format/leb128.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace ipc {

struct Malformed {
    std::string why; // "deliver.queue_id: cut short"
};

// A struct that lies on disk as well lists its fields for messages apart: here they have names, there tags
// (libspool/format/fields.h).
template <class T, class F> void visit_fields(T& value, F& f) {
    if constexpr (requires { std::remove_const_t<T>::wire_fields(value, f); })
        std::remove_const_t<T>::wire_fields(value, f);
    else
        std::remove_const_t<T>::fields(value, f);
}

class Writer {
public:
    explicit Writer(std::string& wire) : wire_(wire) {}
    template <class T> void operator()(std::string_view, const T& value) { put(value); }

private:
    void number(std::uint64_t n) { spool::leb128::put(wire_, n); }
    template <class T> void put(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            number(static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            number(spool::leb128::zigzag(value));
        } else if constexpr (std::is_integral_v<T>) {
            number(static_cast<std::uint64_t>(value));
        } else {
            visit_fields(value, *this);
        }
    }
    void put(const std::string& s) {
        number(s.size());
        wire_.append(s);
    }
    void put(const spool::QueueId& id) { number(id.value); }
    template <class T> void put(const std::vector<T>& list) {
        number(list.size());
        for (const T& each : list) put(each);
    }
    std::string& wire_;
};

// How long a value is on the wire, without writing it.
class Sizer {
public:
    template <class T> void operator()(std::string_view, const T& value) { add(value); }
    std::size_t size() const { return size_; }

private:
    template <class T> void add(const T& value) {
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            size_ += spool::leb128::size_of(spool::leb128::zigzag(value));
        } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
            size_ += spool::leb128::size_of(static_cast<std::uint64_t>(value));
        } else {
            visit_fields(value, *this);
        }
    }
    void add(const std::string& s) { size_ += spool::leb128::size_of(s.size()) + s.size(); }
    void add(const spool::QueueId& id) { size_ += spool::leb128::size_of(id.value); }
    template <class T> void add(const std::vector<T>& list) {
        size_ += spool::leb128::size_of(list.size());
        for (const T& each : list) add(each);
    }
    std::size_t size_ = 0;
};

// Bytes of a struct with fields, on the wire.
template <class T> std::size_t size_on_wire(const T& value) {
    Sizer sizer;
    visit_fields(value, sizer);
    return sizer.size();
}

class Reader {
public:
    explicit Reader(std::string_view wire) : rest_(wire) {}
    template <class T> void operator()(std::string_view name, T& value) {
        if (!why_.empty()) return;
        if (const char* odd = take(value); odd && why_.empty()) why_ = std::string(name) + ": " + odd;
    }
    // Nothing odd was found and nothing is left over.
    bool finish() {
        if (why_.empty() && !rest_.empty()) why_ = "trailing bytes";
        return why_.empty();
    }
    const std::string& why() const { return why_; }

private:
    const char* number(std::uint64_t& n) {
        switch (spool::leb128::take(rest_, n)) {
        case spool::leb128::Taken::whole: break;
        case spool::leb128::Taken::cut_short: return "cut short";
        case spool::leb128::Taken::too_large: return "number too large";
        }
        return nullptr;
    }
    template <class T> const char* take(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
            std::uint64_t n;
            if (auto odd = number(n)) return odd;
            value = n == 1;
            return n > 1 ? "not a yes or no" : nullptr;
        } else if constexpr (std::is_enum_v<T>) {
            std::uint64_t n;
            if (auto odd = number(n)) return odd;
            value = static_cast<T>(n); // every enum on the wire ends in `last_`
            return n > static_cast<std::uint64_t>(T::last_) ? "unknown value" : nullptr;
        } else if constexpr (std::is_integral_v<T>) {
            std::uint64_t n;
            if (auto odd = number(n)) return odd;
            if constexpr (std::is_signed_v<T>) {
                const auto s = spool::leb128::from_zigzag(n);
                value = static_cast<T>(s);
                return static_cast<std::int64_t>(value) != s ? "out of range" : nullptr;
            } else {
                value = static_cast<T>(n);
                return static_cast<std::uint64_t>(value) != n ? "out of range" : nullptr;
            }
        } else {
            visit_fields(value, *this);
            return nullptr; // the inner fields have named what is odd
        }
    }
    const char* take(std::string& s) {
        std::uint64_t n;
        if (auto odd = number(n)) return odd;
        if (n > rest_.size()) return "cut short";
        s.assign(rest_.substr(0, n));
        rest_.remove_prefix(n);
        return nullptr;
    }
    const char* take(spool::QueueId& id) {
        if (auto odd = number(id.value)) return odd;
        return id.valid() ? nullptr : "not a queue id";
    }
    template <class T> const char* take(std::vector<T>& list) {
        std::uint64_t n;
        if (auto odd = number(n)) return odd;
        if (n > rest_.size()) return "cut short"; // every element takes at least one byte
        list.clear();
        list.reserve(n);
        for (; n > 0; --n) {
            if (auto odd = take(list.emplace_back())) return odd;
            if (!why_.empty()) return nullptr;
        }
        return nullptr;
    }

    std::string_view rest_;
    std::string why_;
};

namespace detail {
template <class M, class Variant> struct place_of;
template <class M, class... Rest>
struct place_of<M, std::variant<M, Rest...>> : std::integral_constant<std::size_t, 0> {};
template <class M, class First, class... Rest>
struct place_of<M, std::variant<First, Rest...>>
    : std::integral_constant<std::size_t, 1 + place_of<M, std::variant<Rest...>>::value> {};
} // namespace detail

// A message of numbers fits every frame; one with strings or lists may be too long.
template <class M>
concept AlwaysFits = std::is_trivially_copyable_v<M>;

// Appends one message of the conversation `Variant` to `wire`.
template <class Variant, class M> void encode(const M& message, std::string& wire) {
    wire.push_back(static_cast<char>(detail::place_of<M, Variant>::value));
    Writer writer(wire);
    M::fields(message, writer);
}

// The one message that `wire` holds, whole; anything else is Malformed.
template <class Variant> std::expected<Variant, Malformed> decode(std::string_view wire) {
    if (wire.empty()) return std::unexpected(Malformed{"empty message"});
    const auto place = static_cast<unsigned char>(wire.front());
    Reader reader(wire.substr(1));
    Variant out;
    bool known = false;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((place == I ? (known = true, std::variant_alternative_t<I, Variant>::fields(out.template emplace<I>(), reader))
                     : void()),
         ...);
    }(std::make_index_sequence<std::variant_size_v<Variant>>{});
    if (!known) return std::unexpected(Malformed{"unknown message"});
    if (!reader.finish()) return std::unexpected(Malformed{reader.why()});
    return out;
}

} // namespace ipc
