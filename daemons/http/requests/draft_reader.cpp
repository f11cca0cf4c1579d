#include "daemons/http/requests/draft_reader.h"
#include "daemons/http/compose/content.h"
#include "daemons/http/compose/header.h"
#include "libsmtp/text/base64.h"
#include <algorithm>

namespace http {

namespace {

constexpr std::string_view draft_members[] = {"subject", "text", "html", "headers", "attachments"};

std::optional<std::string> optional_text(Members& members, std::string_view name) {
    auto text = members.text(name);
    if (!members.has(name)) return {};
    return text;
}

// Programs break Base64 into lines.
std::optional<std::string> bytes_of(std::string text) {
    std::erase_if(text, [](char c) { return c == '\r' || c == '\n' || c == ' ' || c == '\t'; });
    return smtp::decode_base64(text);
}

std::optional<std::vector<std::string>> texts_in(const nlohmann::json& value) {
    if (value.is_string()) return {{value.get<std::string>()}};
    const bool good = value.is_array() && std::ranges::all_of(value, [](const auto& each) { return each.is_string(); });
    if (!good) return {};
    return value.get<std::vector<std::string>>();
}

std::vector<compose::GivenField> read_fields(Members& members) {
    std::vector<compose::GivenField> out;
    if (const auto* given = members.object("headers"))
        for (const auto& [name, value] : given->items()) {
            auto values = texts_in(value);
            if (!values) members.wrong("headers", "texts, or lists of texts");
            if (values) out.push_back({name, *std::move(values)});
        }
    return out;
}

compose::Attachment read_attachment(Members& members, const nlohmann::json& given) {
    if (!given.is_object()) {
        members.wrong("attachments", "a list of objects");
        return {};
    }
    Members each(given);
    compose::Attachment out{each.text("name"), each.text("type"), {}, each.text("cid")};
    auto bytes = bytes_of(each.text("content"));
    if (!bytes || !each.has("content")) each.wrong("content", "Base64");
    if (const auto wrong = each.problem()) members.wrong("attachments", "each of them to be right: " + wrong->detail);
    if (bytes) out.content = *std::move(bytes);
    return out;
}

} // namespace

bool has_draft(const Members& members) {
    return std::ranges::any_of(draft_members, [&](std::string_view each) { return members.has(each); });
}

compose::Draft read_draft(Members& members) {
    compose::Draft out;
    out.subject = optional_text(members, "subject");
    out.text = optional_text(members, "text");
    out.html = optional_text(members, "html");
    out.fields = read_fields(members);
    if (const auto* given = members.list("attachments", compose::most_attachments))
        for (const auto& each : *given) out.attachments.push_back(read_attachment(members, each));
    return out;
}

} // namespace http
