// The first bytes that a TLS client sends (RFC 8446 §4.1.2 and §5.1, RFC 5246 §7.4.1.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster::tls {

enum class ContentType : uint8_t {
  kChangeCipherSpec = 20,
  kAlert = 21,
  kHandshake = 22,
  kApplicationData = 23,
};

// Chosen by the client, and seen by both ends and by whoever sees the bytes of the wire.
using ClientRandom = std::array<uint8_t, 32>;

// So many first bytes of a connection contain the random.
inline constexpr size_t kUpToRandom = 5 + 4 + 2 + sizeof(ClientRandom);

enum class Hello : uint8_t { kNo, kNeedMore, kYes };
// Do these first bytes of a connection begin a ClientHello? kYes: *random is set, unless it is nullptr.
Hello sniff_client_hello(std::string_view first, ClientRandom* random);

// The name of the server that the client asks for (SNI, RFC 6066 §3), if these first bytes contain the whole
// ClientHello in one record; "": they do not, or it asks for none. Only names of letters, digits, '-', '.' and '_'.
std::string_view server_name(std::string_view first);

// Do these first bytes of a server begin a record of its handshake, or of an alert?
Hello sniff_server(std::string_view first);

// Does a record of this type begin here?
bool begins_record(std::string_view bytes, ContentType type);

}  // namespace filibuster::tls
