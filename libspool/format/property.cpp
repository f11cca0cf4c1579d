#include "libspool/format/property.h"
#include "libspool/format/fields.h"
#include "libspool/format/record.h"
#include <utility>

namespace spool {

std::uint16_t type_of(const Property& property) {
    if (const auto* unknown = std::get_if<UnknownProperty>(&property)) return unknown->type;
    return static_cast<std::uint16_t>(first_property_type + property.index());
}

std::string encode(const Property& property) {
    return std::visit(
        [](const auto& p) {
            if constexpr (requires { p.payload; })
                return p.payload;
            else
                return fields::Writer::bytes_of(p);
        },
        property);
}

std::expected<Property, Malformed> decode_property(std::uint16_t type, std::string_view payload) {
    constexpr std::size_t known = std::variant_size_v<Property> - 1; // all but UnknownProperty
    if (type < first_property_type || type >= first_property_type + known)
        return Property{UnknownProperty{type, std::string(payload)}};
    std::expected<Property, Malformed> out;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto one = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
            if (type != first_property_type + N) return;
            auto read =
                fields::read<std::variant_alternative_t<N, Property>>(payload, "property " + std::to_string(type));
            if (read)
                out = Property{std::move(*read)};
            else
                out = std::unexpected(std::move(read.error()));
        };
        (one(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<known>{});
    return out;
}

} // namespace spool
