#include "daemons/http/compose/content.h"
#include "daemons/http/compose/field_text.h"
#include "daemons/http/compose/wrong_member.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <openssl/evp.h>
#include <string_view>
#include <vector>

namespace http::compose {

namespace {

bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return smtp::is_letter(c) || smtp::is_digit(c) ||
               std::string_view("!#$&^_.+-").find(c) != std::string_view::npos;
    });
}

// "text/csv; charset=utf-8"
bool is_type(std::string_view text) {
    if (text.size() > longest_name) return false;
    const auto end = std::min(text.find(';'), text.size());
    const auto type = text.substr(0, end);
    const auto slash = std::min(type.find('/'), type.size());
    const auto main = smtp::lowered(type.substr(0, slash));
    if (slash == type.size() || !is_token(main) || !is_token(type.substr(slash + 1))) return false;
    for (auto rest = text.substr(end); !rest.empty();) {
        rest.remove_prefix(1);
        const auto next = std::min(rest.find(';'), rest.size());
        auto parameter = rest.substr(0, next);
        if (parameter.starts_with(' ')) parameter.remove_prefix(1);
        const auto equals = std::min(parameter.find('='), parameter.size());
        if (equals == parameter.size() || !is_token(parameter.substr(0, equals)) ||
            !is_token(parameter.substr(equals + 1)))
            return false;
        rest.remove_prefix(next);
    }
    return main != "multipart" && main != "message";
}

bool is_content_id(std::string_view text) {
    return text.size() <= longest_name && std::ranges::all_of(text, [](char c) {
               return is_token({&c, 1}) || std::string_view("@%*/=?{|}~'").find(c) != std::string_view::npos;
           });
}

std::expected<void, std::string> check(const Draft& draft) {
    if (!draft.text && !draft.html && draft.attachments.empty())
        return std::unexpected("One of raw, text, html and attachments is needed.");
    if (draft.attachments.size() > most_attachments)
        return wrong_member("attachments", fmt::format("at most {}", most_attachments));
    for (const auto& each : draft.attachments) {
        if (!is_line(each.name) || each.name.size() > longest_name)
            return wrong_member("attachments.name", fmt::format("a line of at most {} bytes", longest_name));
        if (!each.type.empty() && !is_type(each.type))
            return wrong_member("attachments.type", "a type such as application/pdf, but not of multipart or message");
        if (!is_content_id(each.cid)) return wrong_member("attachments.cid", "letters, digits and one of ._-+@");
        if (!each.cid.empty() && !draft.html) return wrong_member("attachments.cid", "html that refers to it");
    }
    return {};
}

// Of all that boundaries separate.
std::string digest_of(const Draft& draft) {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
    const auto add = [&](std::string_view text) {
        const std::uint64_t size = text.size();
        EVP_DigestUpdate(context, &size, sizeof size);
        EVP_DigestUpdate(context, text.data(), text.size());
    };
    add(draft.text.value_or(""));
    add(draft.html.value_or(""));
    for (const auto& each : draft.attachments) {
        add(each.name);
        add(each.content);
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    EVP_DigestFinal_ex(context, digest.data(), nullptr);
    EVP_MD_CTX_free(context);
    return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + 12, ""));
}

std::vector<Part> files(const Draft& draft, bool inline_ones) {
    std::vector<Part> out;
    for (const auto& each : draft.attachments)
        if (each.cid.empty() != inline_ones) out.push_back(file_part(each));
    return out;
}

} // namespace

std::expected<Part, std::string> content(const Draft& draft) {
    if (const auto checked = check(draft); !checked) return std::unexpected(checked.error());
    const auto boundary = [start = "=_" + digest_of(draft)](const char* of) { return start + of; };
    std::vector<Part> texts;
    if (draft.text) texts.push_back(text_part("plain", *draft.text));
    if (draft.html) {
        auto related = files(draft, true);
        related.insert(related.begin(), text_part("html", *draft.html));
        texts.push_back(related.size() == 1 ? std::move(related.front())
                                            : multipart("related; type=\"text/html\"", boundary("r"), related));
    }
    auto parts = files(draft, false);
    if (texts.size() > 1) texts = {multipart("alternative", boundary("a"), texts)};
    if (parts.empty()) return std::move(texts.front());
    parts.insert(parts.begin(), std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end()));
    return multipart("mixed", boundary("m"), parts);
}

} // namespace http::compose
