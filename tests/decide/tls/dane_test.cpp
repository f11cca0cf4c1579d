#include "daemons/decide/tls/dane.h"
#include <doctest/doctest.h>

using namespace decide;
using About = DaneLookup::Question::About;
using State = DaneResult::State;

namespace {

const std::string sha256(32, 'x');
const TlsaRecord good{3, 1, 1, sha256};

std::string asked(const DaneLookup& inquiry) {
    if (!inquiry.question()) return "";
    constexpr const char* about[] = {"addresses ", "alias ", "tlsa "};
    return about[static_cast<int>(inquiry.question()->about)] + inquiry.question()->name;
}

const DaneResult in_vain = [] {
    DaneResult out;
    out.answered = true;
    return out;
}();

} // namespace

TEST_CASE("which records can be used (RFC 7672, 3.1; RFC 6698, 2.1)") {
    const std::string sha512(64, 'y');
    CHECK(TlsaRecord{3, 1, 1, sha256}.usable());
    CHECK(TlsaRecord{3, 0, 1, sha256}.usable());
    CHECK(TlsaRecord{3, 1, 2, sha512}.usable());
    CHECK(TlsaRecord{3, 0, 0, "a certificate"}.usable());
    CHECK(TlsaRecord{2, 0, 1, sha256}.usable());
    CHECK(TlsaRecord{2, 1, 2, sha512}.usable());
    CHECK_FALSE(TlsaRecord{0, 0, 1, sha256}.usable()); // PKIX-TA
    CHECK_FALSE(TlsaRecord{1, 1, 1, sha256}.usable()); // PKIX-EE
    CHECK_FALSE(TlsaRecord{4, 1, 1, sha256}.usable());
    CHECK_FALSE(TlsaRecord{3, 2, 1, sha256}.usable());
    CHECK_FALSE(TlsaRecord{3, 1, 3, sha256}.usable());
    CHECK_FALSE(TlsaRecord{3, 1, 1, sha512}.usable());
    CHECK_FALSE(TlsaRecord{3, 1, 2, sha256}.usable());
    CHECK_FALSE(TlsaRecord{3, 1, 0, ""}.usable());
    CHECK(TlsaRecord{3, 1, 1, "\x01\xaf"}.to_string() == "3 1 1 01AF");
}

TEST_CASE("a host whose name may be forged is not asked about (RFC 7672, 2.2.1)") {
    const DaneLookup inquiry("mx.example.org", 25, false);
    CHECK(asked(inquiry).empty());
    CHECK(inquiry.findings() == DaneResult{});
}

TEST_CASE("a host in an unsigned zone is not asked for records (2.2.2)") {
    DaneLookup inquiry("mx.example.org", 25, true);
    CHECK(asked(inquiry) == "addresses mx.example.org");
    inquiry.addresses(LookupStatus::records, false, "mx.example.org", "");
    CHECK(asked(inquiry).empty());
    CHECK(inquiry.findings() == DaneResult{});
}

TEST_CASE("a host in a signed zone") {
    DaneLookup inquiry("mx.example.org", 2525, true);
    inquiry.addresses(LookupStatus::records, true, "mx.example.org", "");
    REQUIRE(asked(inquiry) == "tlsa _2525._tcp.mx.example.org");

    SUBCASE("with records, in order and each once, unusable ones left out") {
        const TlsaRecord other{2, 0, 1, sha256}, odd{1, 0, 1, sha256};
        inquiry.tlsa(LookupStatus::records, true, {good, other, odd, good}, "");
        CHECK(asked(inquiry).empty());
        CHECK(inquiry.findings() ==
              DaneResult{State::usable, "_2525._tcp.mx.example.org", "mx.example.org", {other, good}, ""});
    }
    SUBCASE("with none that can be used") {
        inquiry.tlsa(LookupStatus::records, true, {{1, 0, 1, sha256}, {3, 1, 9, "x"}}, "");
        CHECK(inquiry.findings().state == State::unusable);
        CHECK(inquiry.findings().records.size() == 2);
    }
    SUBCASE("whose records nobody vouches for") {
        inquiry.tlsa(LookupStatus::records, false, {good}, "");
        CHECK(inquiry.findings() == in_vain);
    }
    SUBCASE("without") {
        inquiry.tlsa(LookupStatus::no_name, true, {}, "");
        CHECK(inquiry.findings() == in_vain);
    }
    SUBCASE("without, and the denial is not vouched for") { // an unsigned zone below
        inquiry.tlsa(LookupStatus::no_data, false, {}, "");
        CHECK(inquiry.findings() == in_vain);
    }
    SUBCASE("whose records cannot be had, or are forged") { // 2.1.2
        inquiry.tlsa(LookupStatus::failed, false, {}, "SERVFAIL");
        CHECK(asked(inquiry).empty());
        CHECK(inquiry.findings().state == State::unavailable);
        CHECK(inquiry.findings().owner == "_2525._tcp.mx.example.org");
        CHECK(inquiry.findings().why == "SERVFAIL");
    }
}

TEST_CASE("records that do not hold what they say are unusable") {
    DaneLookup inquiry("mx.example.org", 25, true, [](const TlsaRecord& record) { return record.matching != 0; });
    inquiry.addresses(LookupStatus::records, true, "mx.example.org", "");
    inquiry.tlsa(LookupStatus::records, true, {{3, 0, 0, "no certificate"}}, "");
    CHECK(inquiry.findings().state == State::unusable);
}

TEST_CASE("a host that is an alias: the name at its end first, then its own (2.2.2)") {
    DaneLookup inquiry("mx.example.org", 25, true);

    SUBCASE("all of it signed") {
        inquiry.addresses(LookupStatus::records, true, "real.example.net", "");
        REQUIRE(asked(inquiry) == "tlsa _25._tcp.real.example.net");
        SUBCASE("the end has records") {
            inquiry.tlsa(LookupStatus::records, true, {good}, "");
            CHECK(asked(inquiry).empty());
            CHECK(inquiry.findings().base == "real.example.net");
        }
        SUBCASE("only the alias has") {
            inquiry.tlsa(LookupStatus::no_data, true, {}, "");
            REQUIRE(asked(inquiry) == "tlsa _25._tcp.mx.example.org");
            inquiry.tlsa(LookupStatus::records, true, {good}, "");
            CHECK(inquiry.findings().base == "mx.example.org");
        }
        SUBCASE("neither has") {
            inquiry.tlsa(LookupStatus::no_data, true, {}, "");
            inquiry.tlsa(LookupStatus::no_name, true, {}, "");
            CHECK(asked(inquiry).empty());
            CHECK(inquiry.findings() == in_vain);
        }
        SUBCASE("what the end has cannot be had: the alias is no way round") {
            inquiry.tlsa(LookupStatus::failed, false, {}, "timeout");
            CHECK(asked(inquiry).empty());
            CHECK(inquiry.findings().state == State::unavailable);
        }
    }
    SUBCASE("it leads out of what is signed") {
        inquiry.addresses(LookupStatus::records, false, "real.example.net", "");
        REQUIRE(asked(inquiry) == "alias mx.example.org");
        SUBCASE("from a signed zone") {
            inquiry.alias(LookupStatus::records, true, "");
            REQUIRE(asked(inquiry) == "tlsa _25._tcp.mx.example.org");
            inquiry.tlsa(LookupStatus::records, true, {good}, "");
            CHECK(inquiry.findings().base == "mx.example.org");
        }
        SUBCASE("from an unsigned one") {
            inquiry.alias(LookupStatus::records, false, "");
            CHECK(asked(inquiry).empty());
            CHECK(inquiry.findings().state == State::absent);
        }
        SUBCASE("nobody can say") {
            inquiry.alias(LookupStatus::failed, false, "timeout");
            CHECK(inquiry.findings().state == State::unavailable);
            CHECK(inquiry.findings().owner == "mx.example.org");
        }
    }
}

TEST_CASE("a host without addresses has nothing to be asked") {
    DaneLookup inquiry("mx.example.org", 25, true);
    SUBCASE("none") {
        inquiry.addresses(LookupStatus::no_data, true, "", "");
        CHECK(inquiry.findings().state == State::absent);
    }
    SUBCASE("no answer") {
        inquiry.addresses(LookupStatus::failed, false, "", "SERVFAIL");
        CHECK(inquiry.findings().state == State::unavailable);
    }
    CHECK(asked(inquiry).empty());
}
