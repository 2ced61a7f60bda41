#include "daemon/process/trust.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>

#include <functional>
#include <memory>

#include "daemon/process/session_lane.h"

namespace filibuster {
namespace {

// Where distributions keep the certificates of all authorities that the machine trusts: Debian, Fedora, SUSE, Alpine.
constexpr const char* kOfTheMachine[] = {"/etc/ssl/certs/ca-certificates.crt",
                                         "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
constexpr const char* kWholeBundles[] = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
                                         "AWS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"};
constexpr char kBesidesTheirOwn[] = "NODE_EXTRA_CA_CERTS";
constexpr char kOptionsOfJvms[] = "JAVA_TOOL_OPTIONS";
constexpr char kIniFoldersOfPhp[] = "PHP_INI_SCAN_DIR";

void put(uint64_t value, int bytes, std::string* out) {
  while (bytes-- > 0) out->push_back(static_cast<char>(value >> 8 * bytes & 0xff));
}

std::string with(std::string text, const std::string& more) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text + more;
}

}  // namespace

std::string java_trust_store(std::string_view pem) {
  constexpr uint32_t kMagic = 0xfeedfeed, kVersion = 2, kTrustedCertificate = 2;
  constexpr int kDigest = 20;  // bytes of SHA-1, which is compared only where a password is given
  std::string entries;
  uint32_t count = 0;
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  char *name = nullptr, *header = nullptr;
  unsigned char* bytes = nullptr;
  long size = 0;
  while (PEM_read_bio(text.get(), &name, &header, &bytes, &size) == 1) {
    if (std::string_view(name) == PEM_STRING_X509) {
      const std::string alias = "ca" + std::to_string(count++);
      put(kTrustedCertificate, 4, &entries);
      put(alias.size(), 2, &entries);
      entries += alias;
      put(0, 8, &entries);  // its time of creation
      constexpr std::string_view kType = "X.509";
      put(kType.size(), 2, &entries);
      entries += kType;
      put(static_cast<uint64_t>(size), 4, &entries);
      entries.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(bytes);
  }
  std::string out;
  put(kMagic, 4, &out);
  put(kVersion, 4, &out);
  put(count, 4, &out);
  return out + entries + std::string(kDigest, '\0');
}

Result<Trust> Trust::make(const std::string& authority, const std::string& folder) {
  if (auto made = make_private_folder(folder); !made) return made.error();
  std::string of_machine;
  for (const char* path : kOfTheMachine) {
    auto read = read_file(path);
    if (!read) continue;
    of_machine = std::move(read).value();
    break;
  }
  const std::string all = with(of_machine, authority);
  Trust out;
  out.authority_ = authority;
  out.folder_ = folder;
  out.own_ = folder + "/authority.pem";
  out.all_ = folder + "/all.pem";
  out.java_ = folder + "/all.jks";
  out.php_ = folder + "/php";
  if (auto made = make_private_folder(out.php_); !made) return made.error();
  const std::pair<std::string, std::string> files[] = {
      {out.own_, authority},
      {out.all_, all},
      {out.java_, java_trust_store(all)},
      {out.php_ + "/filibuster.ini",
       "curl.cainfo=\"" + out.all_ + "\"\nopenssl.cafile=\"" + out.all_ + "\"\n"}};
  for (const auto& [path, content] : files) {
    if (auto written = write_file(path, content); !written) return written.error();
  }
  return out;
}

void Trust::add_to(std::vector<std::string>* environment) const {
  const auto add = [&](const std::string& name, const std::string& otherwise) {
    const std::string given = get_variable(*environment, name);
    if (given.empty()) return set_variable(environment, name, otherwise);
    if (!given.starts_with('/')) return;  // the folder in which it is looked for is the program's
    const auto content = read_file(given);
    if (!content) return;
    const std::string copy =
        folder_ + "/" + name + "-" + std::to_string(std::hash<std::string>()(given)) + ".pem";
    if (write_file(copy, with(content.value(), authority_))) set_variable(environment, name, copy);
  };
  for (const char* name : kWholeBundles) add(name, all_);
  add(kBesidesTheirOwn, own_);
  // An empty folder of the list stands for those that PHP was built with.
  set_variable(environment, kIniFoldersOfPhp,
               get_variable(*environment, kIniFoldersOfPhp) + ":" + php_);
  const std::string given = get_variable(*environment, kOptionsOfJvms);
  if (given.find("javax.net.ssl.trustStore=") != std::string::npos) return;
  set_variable(environment, kOptionsOfJvms,
               (given.empty() ? "" : given + " ") + "-Djavax.net.ssl.trustStore=\"" + java_ + '"');
}

}  // namespace filibuster
